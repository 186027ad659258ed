"""Files written so that a reader sees all of one or nothing."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Generator, Iterable, Mapping
from pathlib import Path
from typing import Any


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


def write_table(path: Path, columns: Mapping[str, str], rows: Iterable[Mapping[str, Any]]) -> None:
    """Write rows as Parquet; each has every column, and what else it has is left out.

    `columns` have the names of Arrow's types, with [] behind that of a list's elements.
    """
    import pyarrow as pa
    from pyarrow import parquet as pq

    def type_of(name: str) -> pa.DataType:
        return pa.list_(type_of(name[:-2])) if name.endswith("[]") else pa.type_for_alias(name)

    schema = pa.schema([(name, type_of(kind)) for name, kind in columns.items()])
    table = pa.Table.from_pylist([{name: row[name] for name in schema.names} for row in rows], schema=schema)
    with replacing(path) as temporary:
        pq.write_table(table, temporary)
