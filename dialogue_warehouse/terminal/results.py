"""Output of the commands `tables`, `describe`, `diff`, `trace` and `verify`."""

from __future__ import annotations

import itertools
import json
from dataclasses import asdict
from typing import Any

import msgspec
from rich import box
from rich.console import Console
from rich.table import Table
from rich.text import Text

from dialogue_warehouse.common.text import visible, visible_json, visible_lines
from dialogue_warehouse.lineage.tracing import ChangedSourceError, Trace
from dialogue_warehouse.lineage.verifying import Verified
from dialogue_warehouse.reading.catalogue import Filling, TableDescription, TableSummary
from dialogue_warehouse.reading.changes import Changes
from dialogue_warehouse.reading.dialogue_parts import GENERATED
from dialogue_warehouse.terminal.printing import COLUMN_PADDING, NARROWEST_COLUMN, make_console

WIDEST_TYPE = 40
"""Characters per line of a column's type; a nested type takes several lines."""


def print_tables(tables: list[TableSummary], console: Console | None = None, is_whole: bool = False) -> None:
    """Print the list of tables, a line for each table unless the descriptions are shown whole."""
    console = console or make_console()
    grid = Table(box=box.SIMPLE_HEAD)
    grid.add_column("table", no_wrap=True)
    grid.add_column("rows", justify="right", no_wrap=True)
    grid.add_column("description")
    names = [visible(f"{table.schema}.{table.table}") for table in tables]
    counts = [f"{table.rows:,}" for table in tables]
    left = console.width - max(map(len, (*names, "table"))) - max(map(len, (*counts, "rows"))) - 3 * COLUMN_PADDING - 1
    for table, name, count in zip(tables, names, counts, strict=True):
        summary = Text(visible(table.summary))
        if not is_whole:
            summary.truncate(max(left, NARROWEST_COLUMN), overflow="ellipsis")
        grid.add_row(name, count, summary)
    console.print(grid)


def print_description(description: TableDescription, console: Console | None = None) -> None:
    """Print a table's description and its columns."""
    console = console or make_console()
    console.print(Text(visible(f"{description.schema}.{description.table}"), style="bold"))
    if description.comment:
        console.print(Text(visible_lines(description.comment)))
    if description.links.key:
        console.print(Text(visible(f"key: {', '.join(description.links.key)}")))
    for join in description.links.joins:
        console.print(Text(visible(f"joins {join}")))
    grid = Table(box=box.SIMPLE_HEAD)
    grid.add_column("column", no_wrap=True)
    grid.add_column("type", overflow="fold", max_width=WIDEST_TYPE)
    grid.add_column("description")
    for column in description.columns:
        what = Text(visible_lines(column.comment or ""))
        if column.filling is not None:
            what.append("\n" if column.comment else "").append(_filled(column.filling), style="dim")
        grid.add_row(Text(visible(column.column)), Text(visible(column.type)), what)
    console.print(grid)


def as_json(shown: TableDescription | list[TableSummary] | Changes, indent: int = 2) -> str:
    """Return a description or changes as one JSON object with all fields, or tables as an array of such objects."""
    return visible_json(msgspec.json.format(msgspec.json.encode(shown), indent=indent).decode())


def _filled(filling: Filling) -> str:
    """Describe the corpora that fill a column, with an example."""
    example = "" if filling.example is None else f", such as {visible(filling.example)}"
    return f"filled: {filling}{example}"


def print_changes(changes: Changes, console: Console | None = None) -> None:
    """Print the changes as tables; one line if there are none."""
    console = console or make_console()
    console.print(Text(f"build {changes.build_id}, against {changes.base_build_id}"), soft_wrap=True)
    if not (changes.columns or changes.rows or changes.moved):
        console.print("nothing differs")
    for line in changes.columns:
        console.print(Text(visible(line)), soft_wrap=True)
    if changes.rows:
        console.print(
            _grid(
                ("table", "corpus", "change", "rows", "first key"),
                [
                    (one.table_name, one.corpus_id, one.change, f"{one.row_count:,}", one.first_keys[0])
                    for one in changes.rows
                ],
            )
        )
    if changes.moved:
        console.print(
            _grid(
                ("changed", "corpus", "name", "before", "now"),
                [(one.kind, one.corpus_id, one.name, one.before, one.after) for one in changes.moved],
            )
        )


def _grid(columns: tuple[str, ...], rows: list[tuple[str | None, ...]]) -> Table:
    grid = Table(box=box.SIMPLE_HEAD)
    for column in columns:
        grid.add_column(column, justify="right" if column == "rows" else "left", overflow="fold")
    for row in rows:
        grid.add_row(*(Text(visible(value) if value is not None else "-") for value in row))
    return grid


DISPLAYED_LINES = 60
"""Lines of JSON that a terminal shows."""


def print_trace(found: Trace, as_json: bool = False, console: Console | None = None) -> None:
    """Print a trace as lines and indented JSON, or as JSON. Raises ChangedSourceError if the source has changed."""
    if as_json:
        print(visible_json(json.dumps(as_object(found), ensure_ascii=False, indent=1, default=_plain)))
    else:
        _print_lines(found, console or make_console())
    if found.changed:
        raise ChangedSourceError(found.changed)


def as_object(found: Trace) -> dict[str, Any]:
    """Return a trace as one JSON object that includes the source's JSON."""
    return {
        "key": found.key,
        "table": found.table,
        "source_file_id": found.source_file_id,
        "file": None if found.file is None else str(found.file),
        "is_generated": found.is_generated,
        "record_index": found.record_index,
        "record_pointer": found.record_pointer,
        "json_pointer": found.pointer,
        "value": None if found.value_json is None else json.loads(found.value_json),
        "other_json_pointer": found.other_pointer,
        "other_value": None if found.other_value_json is None else json.loads(found.other_value_json),
        "note": found.missing or found.changed,
        "row": found.row,
    }


def _print_lines(found: Trace, console: Console) -> None:
    lines = [
        ("key", found.key),
        ("table", found.table),
        ("file", found.source_file_id),
        ("on disk", str(found.file) if found.file else "unknown"),
        *([("origin", f"generated, {GENERATED}")] if found.is_generated else []),
        ("record", f"{found.record_index:,} at '{found.record_pointer}'"),
        ("pointer", f"'{found.pointer}'" if not found.pointer else found.pointer),
    ]
    if found.other_pointer is not None:
        lines.append(("and", found.other_pointer))
    if found.missing:
        lines.append(("source", f"missing, so its JSON cannot be shown: {found.missing}"))
    for name, text in lines:
        console.print(Text(f"{name:<9}{visible_json(text)}"), soft_wrap=True)
    for pointer, value in ((found.pointer, found.value_json), (found.other_pointer, found.other_value_json)):
        if value is None:
            continue
        if found.value_json is None:
            console.print(Text("\nonly the second pointer leads to a value"), soft_wrap=True)
        console.print(Text(f"\n{visible_json(pointer or 'the whole file')}", style="bold"), soft_wrap=True)
        text = visible_json(json.dumps(json.loads(value), ensure_ascii=False, indent=2)).split("\n")
        shown = text[:DISPLAYED_LINES] if console.is_terminal else text
        for line in shown:
            console.print(Text(line), soft_wrap=True)
        if len(text) > len(shown):
            more = f"… {len(text) - len(shown):,} more lines; --json shows all"
            console.print(Text(more, style="dim"), soft_wrap=True)


def _plain(value: Any) -> str:
    return value.isoformat() if hasattr(value, "isoformat") else str(value)


def print_results(results: list[Verified], as_json: bool) -> None:
    """Print one row per corpus, or all results as JSON."""
    if as_json:
        print(visible_json(json.dumps([asdict(result) for result in results], ensure_ascii=False, indent=1)))
        return
    grid = Table(box=box.SIMPLE_HEAD)
    grid.add_column("corpus")
    for name in ("files", "records", "equal"):
        grid.add_column(name, justify="right")
    for corpus_id, own in itertools.groupby(results, key=lambda result: result.source_file_id.split("/")[0]):
        files = list(own)
        counts = len(files), sum(file.records for file in files), sum(file.is_equal for file in files)
        grid.add_row(corpus_id, *(f"{count:,}" for count in counts))
    make_console().print(grid)
