"""Descriptions of tables, as a session of Python and a notebook show them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from dialogue_warehouse.api.fixed import fixed
from dialogue_warehouse.errors import counted
from dialogue_warehouse.reading import catalogue
from dialogue_warehouse.reading.catalogue import ColumnDescription, TableSummary


class Tables(tuple[TableSummary, ...]):
    """The tables that can be queried, as a tuple; `print` shows one per line."""

    __slots__ = ()

    def __repr__(self) -> str:
        schemas = dict.fromkeys(table.schema for table in self)
        return f"<Tables: {counted(len(self), 'table')}{' of ' if self else ''}{', '.join(schemas)}>"

    def __str__(self) -> str:
        """Return one line per table: name, number of rows, the first sentence of the description."""
        return _in_columns([(f"{one.schema}.{one.table}", counted(one.rows, "row"), one.summary) for one in self])

    def _repr_html_(self) -> str:
        """Return the list for a notebook."""
        from dialogue_warehouse.site import rendering  # Jinja is needed only here

        rows = [(f"{one.schema}.{one.table}", f"{one.rows:,}", one.summary) for one in self]
        return rendering.render_rows(repr(self)[1:-1], ("table", "rows", "description"), rows)


@dataclass(frozen=True, repr=False)
class TableDescription(catalogue.TableDescription):
    """A table with all its columns; `print` shows them, one per line."""

    def __repr__(self) -> str:
        key = f", key {', '.join(self.links.key)}" if self.links.key else ""
        return f"<TableDescription {self.schema}.{self.table}: {counted(len(self.columns), 'column')}{key}>"

    def __str__(self) -> str:
        """Return the description, the key, the joins and one line per column."""
        links = [f"key: {', '.join(self.links.key)}"] if self.links.key else []
        links += [f"joins {join}" for join in self.links.joins]
        columns = _in_columns([(one.column, one.type, _about(one)) for one in self.columns])
        return "\n".join([f"{self.schema}.{self.table}: {self.comment or ''}".rstrip(": "), *links, columns])

    def _repr_html_(self) -> str:
        """Return the columns for a notebook."""
        from dialogue_warehouse.site import rendering  # Jinja is needed only here

        rows = [(one.column, one.type, _about(one)) for one in self.columns]
        return rendering.render_rows(repr(self)[1:-1], ("column", "type", "description"), rows, self.comment or "")


def with_views(described: catalogue.TableDescription) -> TableDescription:
    """Return a description as a session of Python shows it, of which no part can be changed."""
    columns = tuple(
        replace(one, filling=one.filling and replace(one.filling, shares=fixed(one.filling.shares)))
        for one in described.columns
    )
    return TableDescription(described.schema, described.table, described.comment, described.links, columns)


def _about(column: ColumnDescription) -> str:
    filled = f" Filled: {column.filling}." if column.filling is not None else ""
    return f"{' '.join((column.comment or '').split())}{filled}".strip()


def _in_columns(rows: Sequence[tuple[str, str, str]]) -> str:
    """Return rows as lines: the first two columns are as wide as their longest text."""
    widths = [max((len(row[column]) for row in rows), default=0) for column in range(2)]
    return "\n".join(f"{first:<{widths[0]}}  {second:<{widths[1]}}  {third}".rstrip() for first, second, third in rows)
