"""The catalog as the user sees it: the list of tables, and the columns of one."""

from __future__ import annotations

import msgspec
from rich import box
from rich.console import Console
from rich.table import Table
from rich.text import Text

from pipelines.reading.catalog import TableDescription, TableSummary
from pipelines.reading.filling import Filling
from pipelines.reading.printing import make_console
from pipelines.visible import visible, visible_json

WIDEST_TYPE = 40
"""Characters of a line of a column's type; that of a nested column takes several."""


def print_tables(tables: list[TableSummary], console: Console | None = None) -> None:
    """Print the list of tables."""
    console = console or make_console()
    grid = Table(box=box.SIMPLE_HEAD)
    grid.add_column("table", no_wrap=True)
    grid.add_column("rows", justify="right", no_wrap=True)
    grid.add_column("what it holds")
    for table in tables:
        grid.add_row(f"{table.schema}.{table.table}", f"{table.rows:,}", Text(table.summary))
    console.print(grid)


def print_description(description: TableDescription, console: Console | None = None) -> None:
    """Print a table's description and its columns."""
    console = console or make_console()
    console.print(Text(f"{description.schema}.{description.table}", style="bold"))
    if description.comment:
        console.print(Text(description.comment))
    if description.links.key:
        console.print(Text(f"key: {', '.join(description.links.key)}"))
    for join in description.links.joins:
        console.print(Text(f"joins {join}"))
    grid = Table(box=box.SIMPLE_HEAD)
    grid.add_column("column", no_wrap=True)
    grid.add_column("type", overflow="fold", max_width=WIDEST_TYPE)
    grid.add_column("what it holds")
    for column in description.columns:
        what = Text(column.comment or "")
        if column.filling is not None:
            what.append("\n" if column.comment else "").append(_filled(column.filling), style="dim")
        grid.add_row(Text(column.column), Text(column.type), what)
    console.print(grid)


def as_json(description: TableDescription) -> str:
    """The description as one object, each field always there."""
    return visible_json(msgspec.json.format(msgspec.json.encode(description)).decode())


def _filled(filling: Filling) -> str:
    """Which corpora fill a column, and with what."""
    example = "" if filling.example is None else f", such as {visible(filling.example)}"
    return f"filled: {filling}{example}"
