"""Giving dbt's templates their context without making a thousand objects anew for each.

dbt makes a context for every node that it compiles and again for every one that it runs, with an object for each macro
of every package and a wrapper for each error. Here a thread keeps the objects of the macros and tells them of its next
node, and an error is wrapped when a template names it: the models of the sample take 5.2 s of both cores for 6.3
(medians of three, in turns on a busy machine).

It replaces two functions that dbt does not publish, for as long as dbt runs here; tests/integration/test_contexts.py
holds every query of the project against dbt's own, and fails when dbt no longer calls them.
"""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable, Generator, Iterator, Mapping
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from dbt.context.macros import MacroNamespace
    from dbt.context.providers import ModelContext


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
def kept() -> Generator[None]:
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
