"""Keeping what dbt's templates are compiled to, as Python keeps what its modules are compiled to.

dbt compiles the SQL of every model, test and macro that it comes to, to Python's code, in every process anew. Here the
code is looked up by the text of the template in a file beside dbt's own last parse, which a new version of Python,
Jinja or dbt begins anew: the models of the sample take 5.2 s of both cores for 5.6 (medians of three, in turns on a
busy machine).

It replaces a method that dbt does not publish, for as long as dbt runs here; tests/integration/test_templates.py holds
the code of every template against dbt's own, and fails when dbt no longer calls it.
"""

from __future__ import annotations

import contextlib
import hashlib
import importlib.metadata
import marshal
import sys
from collections.abc import Generator
from pathlib import Path
from types import CodeType
from typing import Any

from pipelines.intake.writing import write_atomically

MOST = 2_000
"""Templates that are kept; a file of more is begun anew with those of the last build."""


def _made_by() -> str:
    libraries = ("jinja2", "dbt-common", "dbt-core")
    return " ".join([str(sys.implementation.cache_tag), *map(importlib.metadata.version, libraries)])


def _read(file: Path, made_by: str) -> dict[str, CodeType]:
    """The code of the file by the hashes of its templates; none where it is of another version, or cannot be read."""
    try:
        version, known = marshal.loads(file.read_bytes())  # noqa: S302 as Python reads its own from beside its modules
    except (OSError, ValueError, EOFError, TypeError):
        return {}
    return known if version == made_by else {}


@contextlib.contextmanager
def kept(file: Path) -> Generator[None]:
    """Let dbt take the code of a template from this file, as long as the context lasts; write what is new there."""
    from dbt_common.clients.jinja import MacroFuzzEnvironment

    made_by = _made_by()
    known = _read(file, made_by)
    used: dict[str, CodeType] = {}
    by_jinja = MacroFuzzEnvironment.compile

    def compile_once(environment: Any, source: Any, name: Any = None, filename: Any = None, **how: Any) -> Any:
        if not isinstance(source, str) or name or filename or how:
            return by_jinja(environment, source, name, filename, **how)
        key = hashlib.sha256(f"{type(environment).__name__}\n{source}".encode()).hexdigest()
        code = known.get(key) or used.get(key) or by_jinja(environment, source)
        used[key] = code
        return code

    MacroFuzzEnvironment.compile = compile_once  # ty: ignore[invalid-assignment]
    try:
        yield
    finally:
        MacroFuzzEnvironment.compile = by_jinja
        if used.keys() - known.keys():
            known = used if len(known) + len(used) > MOST else known | used
            with contextlib.suppress(OSError):  # a folder of somebody else, or a full disk: the next one compiles again
                write_atomically(file, marshal.dumps((made_by, known)))
