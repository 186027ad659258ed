"""dbt's own documentation as one page, like `dbt docs generate --static`, made from the files that a build has left.

That command needs the database under the name that it had while it was built. Here the catalog is made from the
published database instead. https://docs.getdbt.com/reference/commands/cmd-docs
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from dialogue_warehouse.common.files import write_atomically
from dialogue_warehouse.reading.catalogue import TableDescription, TableSummary

MANIFEST_PLACE, CATALOG_PLACE = '"MANIFEST.JSON INLINE DATA"', '"CATALOG.JSON INLINE DATA"'
POLICY = (
    '<meta http-equiv="Content-Security-Policy" content="default-src \'none\'; '
    "script-src 'unsafe-inline' 'unsafe-eval'; style-src 'unsafe-inline'; img-src data:; font-src data:\">"
)
"""The content security policy of the page: it loads nothing from elsewhere."""

UNFILLED_ICON = re.compile(r"xlink:href=(?<![\w-]xlink:href=)(?=\W{1,2}\{\{)")
"""An icon whose name the page fills in later; without `ng-attr-` a browser requests a file with the placeholder's name.

No letter, digit or `-` may precede it. The lookbehind for that comes after the literal text on purpose: a pattern that
begins with letters is found much faster.
"""
UNFILLED_FAVICON = re.compile(r"<link[^>]*\$\{require[^>]*>")
"""An icon whose address dbt's packaging has not filled in."""


Described = Iterable[tuple[TableSummary, TableDescription]]
"""Tables with their columns, as `catalogue.describe_tables` returns them."""


def write(manifest: Path, tables: Described, to: Path, meta: str) -> None:
    """Write the page about these tables; `meta` is an element for its head.

    Raises OSError, and ValueError for the page of another version of dbt.
    """
    from dbt.task.docs import DOCS_INDEX_FILE_PATH

    page = Path(DOCS_INDEX_FILE_PATH).read_text(encoding="utf-8")
    page = UNFILLED_FAVICON.sub("", UNFILLED_ICON.sub("ng-attr-xlink:href=", page))
    text = manifest.read_text(encoding="utf-8")
    for place, data in ((MANIFEST_PLACE, text), (CATALOG_PLACE, json.dumps(_catalog(json.loads(text), tables)))):
        if page.count(place) != 1:
            raise ValueError(f"dbt's page of documentation has no place for {place}")
        page = page.replace(place, _inline(data))
    write_atomically(to, page.replace("<head>", f"<head>{POLICY}{meta}", 1).encode())


def _inline(data: str) -> str:
    """Return JSON that is safe inside a script: `<` occurs only in its strings."""
    return data.replace("<", "\\u003c")


def _catalog(manifest: dict[str, Any], tables: Described) -> dict[str, Any]:
    """Return dbt's catalog of the published tables."""
    found = {(table.schema, table.table): (table, described) for table, described in tables}
    nodes = {}
    for name, node in manifest["nodes"].items():
        place = (node.get("schema"), node.get("name"))
        if node["resource_type"] != "model" or place not in found:
            continue
        table, described = found[place]
        nodes[name] = {
            "unique_id": name,
            "metadata": {
                "type": "BASE TABLE",
                "schema": table.schema,
                "name": table.table,
                "database": node.get("database"),
                "comment": described.comment,
                "owner": None,
            },
            "columns": {
                column.column: {"type": column.type, "index": index, "name": column.column, "comment": column.comment}
                for index, column in enumerate(described.columns, start=1)
            },
            "stats": {
                "row_count": {
                    "id": "row_count",
                    "label": "Rows",
                    "value": table.rows,
                    "include": True,
                    "description": "Rows of the published table.",
                },
            },
        }
    return {"metadata": {}, "nodes": nodes, "sources": {}, "errors": None}
