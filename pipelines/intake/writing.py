"""Files written so that a reader sees all of one or nothing."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import pyarrow as pa


def write_atomically(path: Path, content: bytes) -> None:
    """Write a file so that a reader sees all of it or nothing."""
    temporary = path.with_name(f"{path.name}.{os.getpid()}.tmp")
    temporary.write_bytes(content)
    temporary.replace(path)


def write_table(rows: list[dict[str, Any]], schema: pa.Schema, parquet: Path) -> None:
    """Write rows as Parquet, all of it or nothing."""
    import pyarrow as pa
    from pyarrow import parquet as pq

    temporary = parquet.with_suffix(".tmp")
    pq.write_table(pa.Table.from_pylist(rows, schema=schema), temporary)
    temporary.replace(parquet)
