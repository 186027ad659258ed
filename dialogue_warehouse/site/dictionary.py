"""The published tables as the dictionary shows them, and the lineage of the models."""

from __future__ import annotations

from collections.abc import Iterable

import msgspec

from dialogue_warehouse.common.files import read_regular
from dialogue_warehouse.paths import WarehousePaths
from dialogue_warehouse.reading.catalogue import TableDescription, TableSummary
from dialogue_warehouse.reading.findings import Row
from dialogue_warehouse.site.pictures import Relations, relations

EVERYWHERE = "core.dim_corpora"
"""The table that every other one joins."""


def tables_of(tables: Iterable[tuple[TableSummary, TableDescription]]) -> list[Row]:
    """Return described tables as the dictionary shows them."""
    return [
        {
            "schema": listed.schema,
            "table": listed.table,
            "rows": listed.rows,
            "comment": described.comment,
            "links": described.links,
            "columns": described.columns,
        }
        for listed, described in tables
    ]


def draw_relations(tables: list[Row]) -> Relations:
    """Return the joins between the tables of core, as returned by `tables_of`."""
    core = {f"core.{table['table']}": table["links"] for table in tables if table["schema"] == "core"}
    return relations(core, EVERYWHERE)


class _Depends(msgspec.Struct):
    nodes: list[str] = []


class _Node(msgspec.Struct):
    resource_type: str = ""
    depends_on: _Depends = msgspec.field(default_factory=_Depends)


class _Manifest(msgspec.Struct):
    nodes: dict[str, _Node] = {}


def read_lineage(paths: WarehousePaths) -> dict[str, Row]:
    """Map each model to the models and sources that it reads (`reads`) and the models that read it (`read_by`).

    The result is empty if dbt's manifest is missing or cannot be read: no page may fail for that.
    """
    try:
        manifest = msgspec.json.decode(read_regular(paths.dbt_manifest), type=_Manifest)
    except (OSError, msgspec.MsgspecError):
        return {}
    reads = {
        _model_name(name): sorted(_model_name(parent) for parent in node.depends_on.nodes)
        for name, node in manifest.nodes.items()
        if node.resource_type == "model"
    }
    lineage: dict[str, Row] = {name: {"reads": parents, "read_by": []} for name, parents in reads.items()}
    for name, parents in sorted(reads.items()):
        for parent in parents:
            if parent in lineage:
                lineage[parent]["read_by"].append(name)
    return lineage


def _model_name(unique_id: str) -> str:
    """Return `fct_turns` for a model, `<source>.<table>` for a source."""
    return unique_id.split(".", 2)[2]
