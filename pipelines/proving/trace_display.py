"""A trace as the user sees it: lines and indented JSON, or one JSON object."""

from __future__ import annotations

import json
from typing import Any

from rich.console import Console
from rich.text import Text

from pipelines.proving.tracing import ChangedSourceError, Trace
from pipelines.reading.printing import make_console
from pipelines.visible import visible_json

DISPLAYED_LINES = 60
"""Lines of JSON that a terminal shows."""


def print_trace(found: Trace, as_json: bool = False, console: Console | None = None) -> None:
    """Print a trace as lines and the indented JSON, or as one JSON object. Raises ChangedSourceError after it."""
    if as_json:
        print(visible_json(json.dumps(as_object(found), ensure_ascii=False, indent=1, default=_plain)))
    else:
        _print_lines(found, console or make_console())
    if found.changed:
        raise ChangedSourceError(found.changed)


def as_object(found: Trace) -> dict[str, Any]:
    """A trace as one JSON object, the source's JSON inside it."""
    return {
        "key": found.key,
        "table": found.table,
        "source_file_id": found.source_file_id,
        "file": None if found.file is None else str(found.file),
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
        ("record", f"{found.record_index:,} at '{found.record_pointer}'"),
        ("pointer", f"'{found.pointer}'" if not found.pointer else found.pointer),
    ]
    if found.other_pointer is not None:
        lines.append(("and", found.other_pointer))
    if found.missing:
        lines.append(("source", f"not there, so its JSON cannot be shown: {found.missing}"))
    for name, text in lines:
        console.print(Text(f"{name:<9}{visible_json(text)}"), soft_wrap=True)
    for pointer, value in ((found.pointer, found.value_json), (found.other_pointer, found.other_value_json)):
        if value is None:
            continue
        if found.value_json is None:
            console.print(Text("\nnothing stands at the first pointer, only at the second"), soft_wrap=True)
        console.print(Text(f"\n{visible_json(pointer or 'the whole file')}", style="bold"), soft_wrap=True)
        text = visible_json(json.dumps(json.loads(value), ensure_ascii=False, indent=2)).split("\n")
        shown = text[:DISPLAYED_LINES] if console.is_terminal else text
        for line in shown:
            console.print(Text(line), soft_wrap=True)
        if len(text) > len(shown):
            more = f"… {len(text) - len(shown):,} more lines; --json gives them all"
            console.print(Text(more, style="dim"), soft_wrap=True)


def _plain(value: Any) -> str:
    return value.isoformat() if hasattr(value, "isoformat") else str(value)
