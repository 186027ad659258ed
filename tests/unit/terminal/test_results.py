"""A trace as the user sees it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from rich.console import Console

from dialogue_warehouse.lineage import tracing
from dialogue_warehouse.lineage.tracing import Trace
from dialogue_warehouse.lineage.verifying import Verified
from dialogue_warehouse.reading.catalogue import ColumnDescription, TableDescription, TableSummary
from dialogue_warehouse.reading.changes import Changes, RowChange
from dialogue_warehouse.reading.descriptions import Links
from dialogue_warehouse.terminal import results


def traced(**changes: object) -> Trace:
    values = {
        "key": "c/p/1/0",
        "table": "core.fct_turns",
        "source_file_id": "c/p.json",
        "file": Path("/releases/c/p.json"),
        "is_generated": False,
        "record_index": 1,
        "record_pointer": "/1",
        "pointer": "/1/turns/0",
        "value_json": '{"text": "hello"}',
        "row": {"turn_key": "c/p/1/0"},
    }
    return Trace(**(values | changes))  # ty: ignore[invalid-argument-type]


def printed(found: Trace, terminal: bool = False) -> str:
    console = Console(width=80, force_terminal=terminal, color_system=None, highlight=False)
    with console.capture() as capture:
        results.print_trace(found, console=console)
    return capture.get()


def test_terminal_shows_the_first_lines_and_counts_the_rest() -> None:
    found = traced(value_json=json.dumps(list(range(200))))
    assert "… 142 more lines; --json shows all" in printed(found, terminal=True)
    assert "  199\n]" in printed(found)


def test_no_control_character_reaches_the_terminal(capsys: pytest.CaptureFixture[str]) -> None:
    found = traced(
        pointer="/\x1b[2J", value_json=json.dumps("\x1b]0;x\x07\x7f\x9b1m\u202e\ud800😀", ensure_ascii=False)
    )
    text = printed(found, terminal=True)
    assert all(character.isprintable() or character == "\n" for character in text)
    assert "\\u001b]0;x\\u0007\\u007f\\u009b1m\\u202e\\ud800😀" in text
    results.print_trace(found, as_json=True)
    assert json.loads(capsys.readouterr().out)["value"] == "\x1b]0;x\x07\x7f\x9b1m\u202e\ud800😀"


def test_second_place_is_shown_after_the_first() -> None:
    text = printed(traced(other_pointer="/1/typed/0", other_value_json='"Hello"'))
    assert "and      /1/typed/0" in text
    assert text.endswith('/1/typed/0\n"Hello"\n')


def test_value_only_at_the_second_place_is_marked() -> None:
    text = printed(traced(value_json=None, other_pointer="/1/typed/0", other_value_json='"Hello"'))
    assert "only the second pointer leads to a value" in text


def test_changed_source_is_reported_after_the_place(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(tracing.ChangedSourceError, match="has changed"):
        results.print_trace(traced(value_json=None, changed="p.json has changed"))
    assert "pointer  /1/turns/0" in capsys.readouterr().out


def test_json_of_a_comparison_has_no_control_character(capsys: pytest.CaptureFixture[str]) -> None:
    """Regression: a terminal got those of the source, and half a surrogate pair was an internal error."""
    results.print_results([Verified("a/b.json", 1, False, "\x9b31m \ud800")], as_json=True)
    shown = capsys.readouterr().out
    assert r'"\u009b31m \ud800"' in shown


ODD = "\x1b[31m\x9b1m\u202e"
"""Characters that change a terminal or the order of a text."""
CHANGES = Changes("a", "b", (ODD,), (RowChange("core.fct_turns", "sgd", "added", 1, (ODD,)),), ())


def test_description_has_no_control_character() -> None:
    """Regression: a terminal got those of the names and comments of a file that another person had published."""
    column = ColumnDescription(ODD, ODD, f"{ODD}\nmore", None)
    links = Links((ODD,), ())
    shows = (
        lambda console: results.print_tables([TableSummary(ODD, ODD, 1, ODD)], console),
        lambda console: results.print_description(TableDescription("core", ODD, ODD, links, (column,)), console),
        lambda console: results.print_changes(CHANGES, console),
    )
    for show in shows:
        console = Console(width=200, force_terminal=True, color_system=None, highlight=False)
        with console.capture() as capture:
            show(console)
        text = capture.get()
        assert r"\x1b[31m\x9b1m\u202e" in text
        assert all(character.isprintable() or character == "\n" for character in text), text
    assert r'"\u001b[31m\u009b1m\u202e"' in results.as_json(CHANGES)
