"""The way back, piece by piece: JSON pointers, what is printed, and that every key of core is known to it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import yaml
from rich.console import Console

from pipelines.intake.json_pointer import resolve
from pipelines.paths import DBT_PROJECT
from pipelines.proving import trace_display, tracing
from pipelines.proving.keyed_rows import KEYED_TABLES
from pipelines.proving.tracing import Trace

DOCUMENT = {"a/b": [{"m~n": 0}, [10, 11]], "": {"~1": "tilde one"}, "nothing": None}
NOT_OWN = {"dim_scenarios": "scenario_key", "dim_key_pointers": "traced_key"}
"""Unique columns whose keys are those of other tables."""


@pytest.mark.parametrize(
    ("pointer", "value"),
    [
        ("", DOCUMENT),
        ("/a~1b/0/m~0n", 0),
        ("/a~1b/1/1", 11),
        ("//~01", "tilde one"),
        ("/nothing", None),
    ],
)
def test_pointer_is_followed_as_rfc_6901_says(pointer: str, value: object) -> None:
    assert resolve(DOCUMENT, pointer) == value


@pytest.mark.parametrize(
    "pointer", ["a", "/a", "/a~1b/2", "/a~1b/-", "/a~1b/01", "/a~1b/-1", "/a~1b/¹", "/nothing/0", "/a~1b/0/m~0n/0"]
)
def test_pointer_to_nothing_is_no_value(pointer: str) -> None:
    with pytest.raises(LookupError):
        resolve(DOCUMENT, pointer)


def test_every_key_of_core_can_be_traced() -> None:
    keyed = {}
    for path in (DBT_PROJECT / "models/marts/core").glob("*.yml"):
        for model in yaml.safe_load(path.read_text(encoding="utf-8"))["models"]:
            (declared,) = [test["sound_rows"]["arguments"] for test in model["data_tests"] if "sound_rows" in test]
            for key in declared["keys"]:
                if isinstance(key, str) and key.endswith("_key"):
                    keyed[model["name"]] = key
    lines = {"dim_split_members"}
    assert keyed == {name: key for name, key in KEYED_TABLES.items() if name not in lines} | NOT_OWN


def traced(**changes: object) -> Trace:
    values = {
        "key": "c/p/1/0",
        "table": "core.fct_turns",
        "source_file_id": "c/p.json",
        "file": Path("/releases/c/p.json"),
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
        trace_display.print_trace(found, console=console)
    return capture.get()


def test_terminal_shows_the_first_lines_and_counts_the_rest() -> None:
    found = traced(value_json=json.dumps(list(range(200))))
    assert "… 142 more lines; --json gives them all" in printed(found, terminal=True)
    assert "  199\n]" in printed(found)


def test_no_control_character_reaches_the_terminal(capsys: pytest.CaptureFixture[str]) -> None:
    found = traced(
        pointer="/\x1b[2J", value_json=json.dumps("\x1b]0;x\x07\x7f\x9b1m\u202e\ud800😀", ensure_ascii=False)
    )
    text = printed(found, terminal=True)
    assert all(character.isprintable() or character == "\n" for character in text)
    assert "\\u001b]0;x\\u0007\\u007f\\u009b1m\\u202e\\ud800😀" in text
    trace_display.print_trace(found, as_json=True)
    assert json.loads(capsys.readouterr().out)["value"] == "\x1b]0;x\x07\x7f\x9b1m\u202e\ud800😀"


def test_second_place_is_shown_beside_the_first() -> None:
    text = printed(traced(other_pointer="/1/typed/0", other_value_json='"Hello"'))
    assert "and      /1/typed/0" in text
    assert text.endswith('/1/typed/0\n"Hello"\n')


def test_value_that_stands_in_the_second_place_only_is_said_to() -> None:
    text = printed(traced(value_json=None, other_pointer="/1/typed/0", other_value_json='"Hello"'))
    assert "nothing stands at the first pointer, only at the second" in text


def test_changed_source_is_told_after_the_place(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(tracing.ChangedSourceError, match="has changed"):
        trace_display.print_trace(traced(value_json=None, changed="p.json has changed"))
    assert "pointer  /1/turns/0" in capsys.readouterr().out
