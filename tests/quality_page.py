"""Write the tables of docs/data_quality.md from a warehouse of the real files: `python -m tests.quality_page WAREHOUSE`.

Each query of the page is followed by a table between two markers, which has its rows.
"""

from __future__ import annotations

import io
import re
import sys
from collections.abc import Iterator
from pathlib import Path

from dialogue_warehouse.paths import CLONE, WarehousePaths
from dialogue_warehouse.reading.connection import Connection, open_published
from dialogue_warehouse.reading.query import run_query
from dialogue_warehouse.reading.result_files import write_markdown

PAGE = CLONE / "docs" / "data_quality.md"
TABLE = re.compile(r"(?<=^```sql\n)(.*?)(^```\n<!-- result -->\n)(.*?)(?=^<!-- end of result -->$)", re.M | re.S)


def queries(document: str) -> Iterator[str]:
    """Yield the queries of the page that have a table."""
    for query, _, _ in TABLE.findall(document):
        yield query


def rewrite(document: str, con: Connection) -> str:
    """Return the document with the rows that its queries have now."""

    def filled(found: re.Match[str]) -> str:
        stream = io.StringIO()
        write_markdown(run_query(con, found[1]), stream)
        return f"{found[1]}{found[2]}{stream.getvalue()}"

    return TABLE.sub(filled, document)


if __name__ == "__main__":
    with open_published(WarehousePaths(Path(sys.argv[1]))) as published:
        PAGE.write_text(rewrite(PAGE.read_text(encoding="utf-8"), published), encoding="utf-8")
