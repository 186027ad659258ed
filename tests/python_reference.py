"""Write docs/python_reference.md from the signatures and docstrings of the public names: `python -m tests.python_reference`."""

from __future__ import annotations

import ast
import dataclasses
import inspect
import re
import textwrap
import tomllib
from collections.abc import Iterator
from typing import Any

import dialogue_warehouse as dw
from dialogue_warehouse.paths import CLONE
from dialogue_warehouse.reading import descriptions

PAGE = CLONE / "docs" / "python_reference.md"
INTRODUCTION = """# Reference of the Python API
This page is for readers of [Use it from Python](python.md) who look up a name. It is made from the docstrings by
`python -m tests.python_reference`. Everything is a name of the module `dialogue_warehouse`.

A field that shows a column of the warehouse names it: `<schema>.<table>.<column>`. If it has no description by itself, that of the
column is repeated here. NULL in SQL is None in Python, a list is a tuple.
"""
GROUPS = {
    "Open": ("open", "Warehouse"),
    "Dialogues": ("Dialogues", "Dialogue"),
    "Parts of a dialogue": (
        *("Turn", "Span", "Act", "State", "StateSlot", "Call", "CallResult", "Selection", "Candidates", "Candidate"),
        "Annotation",
        *("Answer", "Participant", "Service", "Scenario", "ScenarioValue", "Attribute", "Guideline", "Step"),
        *("KnowledgeBase", "Item", "Violation", "Source", "Mark"),
    ),
    "Scores": ("Scores", "Score", "SlotScore", "Notice"),
    "Tables and files": (
        "Tables",
        "TableSummary",
        "TableDescription",
        "ColumnDescription",
        "Filling",
        "Links",
        "Join",
        "Exported",
    ),
    "Errors": ("Error", "InputError", "QueryError", "TraceError", "CheckError", "DownloadError"),
}
"""The public names, in the order of the page."""
FIELDS = tomllib.loads((CLONE / "tests" / "python_fields.toml").read_text(encoding="utf-8"))
"""The columns of fields, by class."""
DOC = re.compile(r'\{\{ doc\("(\w+)"\) \}\}')
SECTION = re.compile(r"^(Attributes|Parameters|Returns|Raises)\n-+\n", re.M)


def page() -> str:
    """Return the page."""
    parts = [INTRODUCTION]
    for group, names in GROUPS.items():
        parts.append(f"\n## {group}\n")
        for name in names:
            parts.append(f"\n### {name}\n" + "\n".join(entry(name, getattr(dw, name))))
    return "".join(parts)


def entry(name: str, public: Any) -> Iterator[str]:
    """Yield the lines about a public name."""
    if inspect.isfunction(public):
        yield f"```python\n{signature(name, public)}\n```\n{described(public)}\n"
        return
    yield f"{described(public)}\n"
    if fields := fields_of(public):
        columns = columns_of(name)
        yield f"| field | type |{' column |' if columns else ''} |\n|---|---|{'---|' if columns else ''}---|"
        for field, (kind, text) in fields.items():
            column = f" {f'`{columns[field]}`' if field in columns else ''} |" if columns else ""
            description = text or description_of(name, field)
            yield f"| `{field}` | `{kind.replace('|', chr(92) + '|')}` |{column} {description.replace('|', chr(92) + '|')} |"
        yield ""
    for method, function in vars(public).items():
        if isinstance(function, property) and not method.startswith("_"):
            yield f"**`{method}`**: {described(function.fget)}\n"
        elif inspect.isfunction(function) and not method.startswith("_"):
            yield f"```python\n{signature(method, function)}\n```\n{described(function)}\n"


def signature(name: str, function: Any) -> str:
    """Return the signature, one parameter per line if it is long."""
    found = inspect.signature(function)
    line = f"{name}{found}"
    if len(line) <= 120:
        return plain(line)
    parameters, kinds = [], {parameter.kind for parameter in found.parameters.values()}
    star = inspect.Parameter.KEYWORD_ONLY in kinds and inspect.Parameter.VAR_POSITIONAL not in kinds
    for parameter in found.parameters.values():
        if star and parameter.kind is inspect.Parameter.KEYWORD_ONLY:
            parameters.append("*")
            star = False
        parameters.append(str(parameter))
    return plain(f"{name}(\n" + "".join(f"    {one},\n" for one in parameters) + f") -> {found.return_annotation}")


def plain(text: str) -> str:
    """Return a signature without quotes around types."""
    return re.sub(r"(: |-> )'([^']*)'", r"\1\2", text)


def described(public: Any) -> str:
    """Return the docstring as Markdown: the parts of numpy's style become lists."""
    text = inspect.getdoc(public) or ""
    first, *sections = SECTION.split(text)
    lines = [first.strip()]
    for heading, body in zip(sections[::2], sections[1::2], strict=True):
        if heading == "Attributes":  # the table of the fields has them
            continue
        lines.append(f"\n*{heading}*\n")
        for item in re.split(r"^(?=\S)", body, flags=re.M):
            if item.strip():
                name, _, rest = item.strip().partition("\n")
                lines.append(f"* `{name}`: {' '.join(textwrap.dedent(rest).split())}".rstrip(": "))
    return "\n".join(lines)


def fields_of(public: Any) -> dict[str, tuple[str, str]]:
    """Return the type of each field and the docstring below it; those of a base class come first."""
    found: dict[str, tuple[str, str]] = {}
    for kind in reversed(public.__mro__):
        if not (hasattr(kind, "__struct_fields__") or dataclasses.is_dataclass(kind) or hasattr(kind, "_fields")):
            continue
        if not kind.__module__.startswith("dialogue_warehouse"):
            continue
        body = ast.parse(textwrap.dedent(inspect.getsource(kind))).body[0]
        assert isinstance(body, ast.ClassDef)
        for node, after in zip(body.body, [*body.body[1:], None], strict=True):
            if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name) and node.target.id[0] != "_":
                text = (
                    after.value.value if isinstance(after, ast.Expr) and isinstance(after.value, ast.Constant) else ""
                )
                found[node.target.id] = (ast.unparse(node.annotation), " ".join(str(text).split()))
    return found


def columns_of(name: str) -> dict[str, str]:
    """Return the column of the warehouse that each field of a class shows: `<schema>.<table>.<column>`."""
    declared = FIELDS.get(name, {})
    own = column_descriptions(declared["table"]) if "table" in declared else {}
    same = {field: f"{declared['table']}.{field}" for field in fields_of(getattr(dw, name)) if field in own}
    return {field: column for field, column in same.items() if field not in declared.get("texts", {})} | declared.get(
        "columns", {}
    )


def description_of(name: str, field: str) -> str:
    """Return the description of a field: its own text, or that of its column; empty if there is none."""
    if text := FIELDS.get(name, {}).get("texts", {}).get(field):
        return text
    table, _, column = columns_of(name).get(field, "").rpartition(".")
    return column_descriptions(table)[column] if table else ""


def column_descriptions(table: str) -> dict[str, str]:
    """Return the description of each column of a table, as in the dictionary."""
    texts = descriptions.definitions()
    return {
        column["name"]: " ".join(DOC.sub(lambda found: texts[found[1]], column["description"]).split())
        for column in descriptions.models()[table]["columns"]
    }


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
