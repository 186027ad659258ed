"""Files written so that a reader sees all of one or nothing."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Generator, Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import pyarrow as pa


@contextlib.contextmanager
def replacing(path: Path) -> Generator[Path]:
    """A place beside `path` to write to, which becomes `path` in one step when the block ends without an error."""
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    try:
        yield temporary
        temporary.replace(path)
    finally:
        temporary.unlink(missing_ok=True)


def write_atomically(path: Path, content: bytes) -> None:
    """Write a file of these bytes."""
    with replacing(path) as temporary:
        temporary.write_bytes(content)


def write_table(path: Path, schema: pa.Schema, rows: Iterable[Mapping[str, Any]]) -> None:
    """Write rows as Parquet; each has every column of the schema, and what else it has is left out."""
    import pyarrow as pa
    from pyarrow import parquet as pq

    table = pa.Table.from_pylist([{name: row[name] for name in schema.names} for row in rows], schema=schema)
    with replacing(path) as temporary:
        pq.write_table(table, temporary)


def schema_of(columns: Mapping[str, str]) -> pa.Schema:
    """The Arrow schema of columns that are given as names and names of types."""
    import pyarrow as pa

    return pa.schema([(name, pa.type_for_alias(kind)) for name, kind in columns.items()])
