"""private_ways.toml lists, with reasons, exactly the private parts of libraries that the packages use.

Names with a leading underscore, assignments to attributes of libraries, and changes of `sys.modules` are found in the
code. An import of a module that its library does not document is found by a reader, and listed with `by_hand`.
"""

from __future__ import annotations

import ast
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from dialogue_warehouse.paths import CLONE

PACKAGES = ("pipelines", "expectations", "dialogue_warehouse")
MOST = 8
LISTED: list[dict[str, Any]] = tomllib.loads((Path(__file__).parent / "private_ways.toml").read_text(encoding="utf-8"))[
    "ways"
]
DOCUMENTED = frozenset(
    {
        *(
            "os._exit",
            "_replace",
            "_asdict",
            "_fields",
            "_field_defaults",
            "_make",
            "from _typeshed import ReadableBuffer",
        ),
        *("sys.excepthook", "sys.unraisablehook", "sys.stdout", "sys.stderr"),
        "setattr(sys, name, open(number, mode, encoding='utf-8', closefd=False))",  # the three standard streams
    }
)
"""Documented names of Python that look private or are assigned to a module."""
BY_NAME = ("getattr", "setattr", "hasattr", "delattr")
TARGETS = (ast.Assign, ast.AugAssign, ast.AnnAssign, ast.Delete)


def is_private(name: str) -> bool:
    """Return whether a name has exactly one leading underscore."""
    return name.startswith("_") and not name.startswith("__") and len(name) > 1


def root(node: ast.expr) -> str:
    """Return the name at the beginning of an expression: `a` of `a.b[0].c`; "" if it begins with another expression."""
    while isinstance(node, ast.Attribute | ast.Subscript):
        node = node.value
    return node.id if isinstance(node, ast.Name) else ""


class Module:
    """A module of this project: its imports from libraries, and its own private names."""

    def __init__(self, source: str) -> None:
        self.tree = ast.parse(source)
        self.imported = self._imported()
        self.objects = self.imported | {
            target.id
            for node in ast.walk(self.tree)
            if isinstance(node, ast.Assign) and isinstance(node.value, ast.Call)
            for target in node.targets
            if isinstance(target, ast.Name) and root(node.value.func) in self.foreign
        }
        """Names of libraries, of their parts, and of the results of their calls."""
        self.own = set(self._own_names())

    def _own_names(self) -> Iterator[str]:
        """Yield the names of functions, classes, fields and attributes of `self`."""
        for node in ast.walk(self.tree):
            if isinstance(node, ast.FunctionDef | ast.ClassDef):
                yield node.name
            elif isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
                yield node.target.id
            elif isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store) and root(node) == "self":
                yield node.attr

    def _imported(self) -> set[str]:
        self.foreign: set[str] = set()
        found = set()
        for node in ast.walk(self.tree):
            if not isinstance(node, ast.Import | ast.ImportFrom):
                continue
            for alias in node.names:
                package = (getattr(node, "module", None) or alias.name).split(".")[0]
                if package in PACKAGES or getattr(node, "level", 0):
                    continue
                name = alias.asname or alias.name.split(".")[0]
                found.add(name)
                if package not in sys.stdlib_module_names:
                    self.foreign.add(name)
        return found

    def found(self) -> Iterator[str]:
        """Yield the code of each private way."""
        for node in ast.walk(self.tree):
            if isinstance(node, ast.Import | ast.ImportFrom):
                yield from self._private_imports(node)
            elif isinstance(node, ast.Attribute):
                if is_private(node.attr) and node.attr not in self.own | DOCUMENTED:
                    yield ast.unparse(node)
            elif isinstance(node, TARGETS):
                yield from self._assigned(node)
            elif isinstance(node, ast.Call):
                yield from self._called(node)
            elif isinstance(node, ast.ClassDef) and {root(base) for base in node.bases} & self.foreign:
                yield from self._overridden(node)

    def _private_imports(self, node: ast.Import | ast.ImportFrom) -> Iterator[str]:
        names = [alias.name for alias in node.names] + [getattr(node, "module", None) or ""]
        parts = {part for name in names for part in name.split(".")}
        if any(map(is_private, parts)):
            yield ast.unparse(node)

    def _assigned(self, node: ast.stmt) -> Iterator[str]:
        targets = getattr(node, "targets", None) or [getattr(node, "target", None)]
        for target in targets:
            for part in target.elts if isinstance(target, ast.Tuple) else [target]:
                code = ast.unparse(part)
                is_module = code.startswith("sys.modules")
                is_attribute = isinstance(part, ast.Attribute) and root(part) in self.objects
                if is_module or is_attribute:
                    yield code

    def _called(self, node: ast.Call) -> Iterator[str]:
        called = ast.unparse(node.func)
        if called.startswith("sys.modules.") and not called.endswith((".get", ".items", ".keys", ".values", ".copy")):
            yield called
        if called in BY_NAME and len(node.args) > 1:
            name = node.args[1]
            is_named = isinstance(name, ast.Constant) and is_private(str(name.value)) and name.value not in self.own
            if is_named or (called in ("setattr", "delattr") and root(node.args[0]) in self.objects):
                yield ast.unparse(node)

    def _overridden(self, node: ast.ClassDef) -> Iterator[str]:
        """Yield private methods that no code here calls, so that only the library that they derive from can call them."""
        called = {attribute.attr for attribute in ast.walk(self.tree) if isinstance(attribute, ast.Attribute)}
        for method in node.body:
            if isinstance(method, ast.FunctionDef) and is_private(method.name) and method.name not in called:
                yield f"{node.name}.{method.name}"


def ways(source: str) -> set[str]:
    """Return the private ways of a module."""
    return set(Module(source).found()) - DOCUMENTED


def test_private_ways_of_the_code_are_listed() -> None:
    found = {
        (path.relative_to(CLONE).as_posix(), way)
        for package in PACKAGES
        for path in (CLONE / package).rglob("*.py")
        for way in ways(path.read_text(encoding="utf-8"))
    }
    assert found == {(way["module"], code) for way in LISTED for code in way.get("code", [])}


def test_list_is_short_and_each_way_has_its_reason_and_what_was_tried() -> None:
    assert len(LISTED) <= MOST
    for way in LISTED:
        assert way.keys() <= {"module", "code", "by_hand", "reason", "tried"}
        assert way.get("code") or way.get("by_hand")
        assert len(way["reason"]) > 20
        assert len(way["tried"]) > 20


@pytest.mark.parametrize("way", [way for way in LISTED if way.get("by_hand")], ids=lambda way: way["by_hand"][0])
def test_manually_listed_way_is_in_the_code(way: dict[str, Any]) -> None:
    source = (CLONE / way["module"]).read_text(encoding="utf-8")
    assert [code for code in way["by_hand"] if code not in source] == []


@pytest.mark.parametrize(
    ("source", "found"),
    [
        ("import lib\nlib._part()", "lib._part"),
        ("def f(x):\n    return x.thing._part", "x.thing._part"),
        ("from lib._part import name", "from lib._part import name"),
        ("import lib._part", "import lib._part"),
        ("from lib import _part", "from lib import _part"),
        ("import lib\nlib.function = print", "lib.function"),
        ("def f():\n    from lib import Class\n    Class.method = print", "Class.method"),
        ("import lib\nlib.a.b, x = 1, 2", "lib.a.b"),
        ("import lib\nthing = lib.make()\nthing.setting = 1", "thing.setting"),
        ("import lib\ndel lib.function", "lib.function"),
        ("import lib\nsetattr(lib, name, 1)", "setattr(lib, name, 1)"),
        ("getattr(x, '_part')", "getattr(x, '_part')"),
        ("import sys\nsys.modules['lib'] = None", "sys.modules['lib']"),
        ("import sys\ndel sys.modules['lib']", "sys.modules['lib']"),
        ("import sys\nsys.modules.update(x)", "sys.modules.update"),
        ("import gc\ngc.collect = print", "gc.collect"),
        ("import lib\nclass Own(lib.Base):\n    def _hook(self): ...", "Own._hook"),
    ],
)
def test_private_way_is_found(source: str, found: str) -> None:
    assert ways(source) == {found}


@pytest.mark.parametrize(
    "source",
    [
        "import os, sys\nos._exit(1)\nsys.excepthook = print",
        "class Own:\n    def __init__(self):\n        self._part = 1\ndef f(own):\n    return own._part",
        "import lib\nclass Own(lib.Base):\n    def f(self):\n        return self._part()\n    def _part(self): ...",
        "from pipelines import building\nbuilding.setting = 1",
        "import lib\nlib.function()\nx = lib.value\nx[0] = 1",
        "import sys\nlib = sys.modules.get('lib')",
        "x = y._replace(a=1)",
        "from __future__ import annotations\n__all__ = ['a']",
    ],
)
def test_public_way_is_not_found(source: str) -> None:
    assert ways(source) == set()
