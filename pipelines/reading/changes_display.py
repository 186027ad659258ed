"""Shows what differs between two builds."""

from __future__ import annotations

from rich import box
from rich.console import Console
from rich.table import Table
from rich.text import Text

from pipelines.reading.changes import Changes
from pipelines.reading.printing import make_console


def print_changes(changes: Changes, console: Console | None = None) -> None:
    """Print the changes as tables; one line where there are none."""
    console = console or make_console()
    console.print(Text(f"build {changes.build_id}, against {changes.base_build_id}"), soft_wrap=True)
    if not (changes.columns or changes.rows or changes.moved):
        console.print("nothing differs")
    for line in changes.columns:
        console.print(Text(line), soft_wrap=True)
    if changes.rows:
        console.print(
            _grid(
                ("table", "corpus", "change", "rows", "such as"),
                [
                    (one.table_name, one.corpus_id, one.change, f"{one.row_count:,}", one.first_keys[0])
                    for one in changes.rows
                ],
            )
        )
    if changes.moved:
        console.print(
            _grid(
                ("moved", "corpus", "name", "before", "now"),
                [(one.kind, one.corpus_id, one.name, one.before, one.after) for one in changes.moved],
            )
        )


def _grid(columns: tuple[str, ...], rows: list[tuple[str | None, ...]]) -> Table:
    grid = Table(box=box.SIMPLE_HEAD)
    for column in columns:
        grid.add_column(column, justify="right" if column == "rows" else "left", overflow="fold")
    for row in rows:
        grid.add_row(*(Text(value if value is not None else "-") for value in row))
    return grid
