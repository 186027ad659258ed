"""Keeping what dbt's templates are compiled to, as Python keeps what its modules are compiled to.

dbt compiles the SQL of every model, test and macro that it comes to, to Python's code, in every process anew. Here the
code is looked up by the text of the template in a file beside dbt's own last parse: the models of the sample take 5.2 s
of both cores for 5.6 (medians of three, in turns on a busy machine).

It replaces a method that dbt does not publish, for as long as dbt runs here; tests/integration/test_templates.py holds
the code of every template against dbt's own, and fails when dbt no longer calls it.
"""

from __future__ import annotations

import contextlib
import hashlib
from collections.abc import Generator
from pathlib import Path
from typing import Any

from pipelines.building.remembered import remembered


@contextlib.contextmanager
def kept(file: Path) -> Generator[None]:
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
