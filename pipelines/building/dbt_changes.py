"""Replaced parts of dbt that save time: contexts, inlining, schemas, templates, and events that nobody reads.

All of them replace functions that dbt does not publish, for as long as dbt runs here. tests/integration compares each
with dbt's own and fails when dbt no longer calls it. Times are of the sample's models, both cores, medians in turns.

Contexts: dbt makes an object for each macro for every node; here a thread keeps them (5.2 s, 6.3 s without). Inlining:
dbt parses each query to put ephemeral models before it; ours begin with `with` or `select` (6.5 s for 8.3 s). Schemas:
the JSON schemas of dbt's configuration are cached in a file, by the name of the class. Templates: compiled SQL
templates are cached in a file, by their text (5.2 s for 5.6 s). Events: messages, query files and empty result tables
that nobody reads are not made (4.4 s for 5.0 s).
"""

from __future__ import annotations

import contextlib
import hashlib
import importlib.metadata
import inspect
import json
import marshal
import re
import sys
import threading
from collections.abc import Callable, Generator, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dialogue_warehouse.common.files import read_regular, write_atomically

if TYPE_CHECKING:
    from dbt.context.macros import MacroNamespace
    from dbt.context.providers import ModelContext
    from dbt.contracts.graph.nodes import InjectedCTE
    from dbt_common.events.base_types import BaseEvent, EventLevel


MOST = 2_000
"""Values that are remembered; a file of more is begun anew with those of the last process."""


class Memory:
    """Values by name: those of a file, and those that were made since."""

    def __init__(self, known: dict[str, Any]) -> None:
        self.known = known
        self.used: dict[str, Any] = {}

    def get(self, name: str, make: Callable[[], Any]) -> Any:
        """The value of this name, made where it is not known; what `marshal` can write, and not empty."""
        value = self.known.get(name) or self.used.get(name) or make()
        self.used[name] = value
        return value


@contextlib.contextmanager
def remembered(file: Path, *libraries: str) -> Generator[Memory]:
    """The values of this file; what was made is written there afterwards. It belongs to these libraries' versions."""
    made_by = " ".join([str(sys.implementation.cache_tag), *map(importlib.metadata.version, libraries)])
    memory = Memory(_read(file, made_by))
    try:
        yield memory
    finally:
        known, used = memory.known, memory.used
        if used.keys() - known.keys():
            known = used if len(known) + len(used) > MOST else known | used
            with contextlib.suppress(OSError):  # a folder of somebody else, or a full disk: the next one makes it again
                write_atomically(file, marshal.dumps((made_by, known)))


def _read(file: Path, made_by: str) -> dict[str, Any]:
    """The values of the file; none where it is of another version, or cannot be read."""
    try:
        version, known = marshal.loads(read_regular(file))  # noqa: S302 as Python reads its own from beside its modules
    except (OSError, ValueError, EOFError, TypeError):
        return {}
    return known if version == made_by else {}


class Exceptions(dict[str, Callable[..., Any]]):
    """What a template may raise, by name; wrapped for its node when it is named."""

    def __init__(self, exports: Mapping[str, Any], wrap: Callable[..., Any]) -> None:
        super().__init__()
        self._exports, self._wrap = exports, wrap

    def __missing__(self, name: str) -> Callable[..., Any]:
        """Wrap an error."""
        self[name] = self._wrap(self._exports[name])
        return self[name]


@contextlib.contextmanager
def reuse_contexts() -> Generator[None]:
    """Let dbt use the same objects for the next node of a thread, as long as the context lasts."""
    from dbt.context import exceptions_jinja, providers
    from dbt.context.macros import MacroNamespace

    class Flat(MacroNamespace):
        """A namespace that has its macros by name, in the order in which dbt looks for them."""

        def __init__(self, of: MacroNamespace) -> None:
            super().__init__(of.global_namespace, of.local_namespace, of.global_project_namespace, of.packages)
            self.by_name = dict(of.items())
            packages = (of.local_namespace, of.global_namespace, of.global_project_namespace, *of.packages.values())
            self.macros = list({id(macro): macro for package in packages for macro in package.values()}.values())

        def __getitem__(self, key: str) -> Any:
            return self.by_name[key]

        def __iter__(self) -> Iterator[str]:
            return iter(self.by_name)

        def _keys(self) -> set[str]:
            return set(self.by_name)

    of_thread = threading.local()
    model_context = providers.ModelContext
    wrapped_by_dbt = providers.wrapped_exports
    build_by_dbt = model_context._build_namespace

    def build(context: ModelContext) -> MacroNamespace:
        if type(context) is not model_context:  # of a unit test, whose macros are its own
            return build_by_dbt(context)
        namespaces = of_thread.__dict__.setdefault("namespaces", {})
        key = (id(context.manifest), context.search_package)
        if key not in namespaces:
            namespaces[key] = (context.manifest, Flat(build_by_dbt(context)))
        namespace = namespaces[key][1]
        for macro in namespace.macros:
            macro.context, macro.node, macro.stack = context._ctx, context.model, context.macro_stack
        return namespace

    def wrapped(model: Any) -> Exceptions:
        return Exceptions(exceptions_jinja.CONTEXT_EXPORTS, exceptions_jinja.wrapper(model))

    model_context._build_namespace = build  # ty: ignore[invalid-assignment]
    providers.wrapped_exports = wrapped  # ty: ignore[invalid-assignment]
    try:
        yield
    finally:
        del model_context._build_namespace
        providers.wrapped_exports = wrapped_by_dbt


BEGINNING = re.compile(r"(?:\s|--[^\n]*\n)*(?P<word>with(?:\s+recursive)?|select)\b", re.IGNORECASE)
"""White space, comments of one line, and the first word of a query."""


def inlined(query: str, models: list[InjectedCTE]) -> str | None:
    """The query with these models before its own subqueries; None where dbt has to look for the place itself."""
    start = BEGINNING.match(query)
    if not start or ";" in query:
        return None
    before = ", ".join(model.sql for model in models)
    if start["word"].lower() != "select":
        return f"{query[: start.end()]}{before}, {query[start.end() :]}"
    if re.search(r"\bwith\b", query, re.IGNORECASE):
        return None
    place = len(query) - len(query.lstrip())
    return f"{query[:place]}with{before} {query[place:]}"


@contextlib.contextmanager
def without_parsing() -> Generator[None]:
    """Let dbt inline models this way, as long as the context lasts."""
    from dbt import compilation

    by_dbt = compilation.inject_ctes_into_sql

    def inject(sql: str, ctes: list[InjectedCTE]) -> str:
        return sql if not ctes else inlined(sql, ctes) or by_dbt(sql, ctes)

    compilation.inject_ctes_into_sql = inject  # ty: ignore[invalid-assignment]
    try:
        yield
    finally:
        compilation.inject_ctes_into_sql = by_dbt


LIBRARIES = ("dbt-core", "dbt-common", "dbt-adapters", "dbt-duckdb", "mashumaro")


@contextlib.contextmanager
def reuse_schemas(file: Path) -> Generator[None]:
    """Let dbt take the schema of a class from this file, as long as the context lasts; write what is new there."""
    from dbt_common.dataclass_schema import dbtClassMixin

    by_dbt: Any = inspect.getattr_static(dbtClassMixin, "json_schema")
    with remembered(file, *LIBRARIES) as memory:

        def schema_of(cls: type[dbtClassMixin]) -> dict[str, Any]:
            # through JSON, for dbt has kinds of text of its own in it
            return memory.get(
                f"{cls.__module__}.{cls.__qualname__}", lambda: json.loads(json.dumps(by_dbt.__func__(cls)))
            )

        dbtClassMixin.json_schema = classmethod(schema_of)  # ty: ignore[invalid-assignment]
        try:
            yield
        finally:
            dbtClassMixin.json_schema = by_dbt


@contextlib.contextmanager
def reuse_templates(file: Path) -> Generator[None]:
    """Let dbt take the code of a template from this file, as long as the context lasts; write what is new there."""
    from dbt_common.clients.jinja import MacroFuzzEnvironment

    by_jinja = MacroFuzzEnvironment.compile
    with remembered(file, "jinja2", "dbt-common", "dbt-core") as memory:

        def compile_once(environment: Any, source: Any, name: Any = None, filename: Any = None, **how: Any) -> Any:
            if not isinstance(source, str) or name or filename or how:
                return by_jinja(environment, source, name, filename, **how)
            key = hashlib.sha256(f"{type(environment).__name__}\n{source}".encode()).hexdigest()
            return memory.get(key, lambda: by_jinja(environment, source))

        MacroFuzzEnvironment.compile = compile_once  # ty: ignore[invalid-assignment]
        try:
            yield
        finally:
            MacroFuzzEnvironment.compile = by_jinja


HEARD = frozenset({"NodeFinished"})
"""The events that are told although they are no warning."""


@contextlib.contextmanager
def without_the_unread() -> Generator[None]:
    """Let dbt make only the messages that are told, and no files and tables, as long as the context lasts.

    A switch of dbt's behavior is said to come from "dbt", whichever module it comes from.
    """
    from dbt.contracts.graph.nodes import ParsedNode
    from dbt_common.behavior_flags import BehaviorFlagRendered
    from dbt_common.clients import agate_helper

    table = agate_helper.empty_table()  # nobody changes one: it serves all
    with (
        _without_the_unheard(),
        _replaced(ParsedNode, "write_node", lambda *_: None),
        _replaced(agate_helper, "empty_table", lambda: table),
        _replaced(BehaviorFlagRendered, "_default_source", staticmethod(lambda: "dbt")),
    ):
        yield


@contextlib.contextmanager
def _replaced(owner: object, name: str, by: object) -> Generator[None]:
    """Let a function or a method be another one, as long as the context lasts."""
    of_dbt = inspect.getattr_static(owner, name)
    setattr(owner, name, by)
    try:
        yield
    finally:
        setattr(owner, name, of_dbt)


@contextlib.contextmanager
def _without_the_unheard() -> Generator[None]:
    from dbt_common.events.base_types import BaseEvent
    from dbt_common.events.event_manager import EventManager

    make, fire = BaseEvent.__init__, EventManager.fire_event

    def make_later(event: BaseEvent, *arguments: Any, **fields: Any) -> None:
        if type(event).__name__ in HEARD:
            make(event, *arguments, **fields)
        else:
            event.__dict__["made_of"] = (arguments, fields)

    def fire_heard(
        manager: EventManager, e: BaseEvent, level: EventLevel | None = None, *more: Any, **named: Any
    ) -> None:
        made_of = e.__dict__.pop("made_of", None)
        if made_of is None or (level or e.level_tag()).value in ("warn", "error"):
            if made_of is not None:
                make(e, *made_of[0], **made_of[1])
            fire(manager, e, level, *more, **named)

    BaseEvent.__init__, EventManager.fire_event = make_later, fire_heard
    try:
        yield
    finally:
        BaseEvent.__init__, EventManager.fire_event = make, fire
