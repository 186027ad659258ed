"""Keeping the schemas that dbt holds its configuration against.

For each class of its configuration (project, profile, flags) dbt makes a JSON schema of the class, in every process
anew: a quarter of the time that its commands spend in the main thread, sampled in a build of one small corpus. Here
they are looked up by the name of the class, in a file beside dbt's own last parse.

It replaces a method that dbt does not publish, for as long as dbt runs here; tests/integration/test_schemas.py holds
each schema against dbt's own, and fails when dbt no longer asks for them.
"""

from __future__ import annotations

import contextlib
import inspect
import json
from collections.abc import Generator
from pathlib import Path
from typing import Any

from pipelines.building.remembered import remembered

LIBRARIES = ("dbt-core", "dbt-common", "dbt-adapters", "dbt-duckdb", "mashumaro")


@contextlib.contextmanager
def kept(file: Path) -> Generator[None]:
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
