"""Files of JSON Lines: each line is a record, and is restored as a line."""

from __future__ import annotations

import io
import json
from pathlib import Path

import pytest

from dialogue_warehouse.corpora.release import Container, Entity
from dialogue_warehouse.lineage.restored_files import RestoredFile, SourceFile, write_records
from dialogue_warehouse.releases.records import LandingError, split_records
from tests.unit.item_files import ITEM, Item, land, make_corpus, read

JSON_LINES = Entity("items", Item, Container.JSON_LINES, r"(?P<part>train|dev)/items\.jsonl")
PATH = "train/items.jsonl"
LINE = json.dumps(ITEM).encode()


def item(**changes: object) -> bytes:
    return json.dumps(ITEM | changes).encode()


@pytest.mark.parametrize("end", [b"\n", b"\r\n"])
def test_each_line_is_a_record(tmp_path: Path, end: bytes) -> None:
    landed = land(tmp_path, item(id=1) + end + item(id=2) + end, JSON_LINES, PATH)
    assert [(row["record_index"], row["id"]) for row in read(tmp_path, landed)] == [(0, 1), (1, 2)]
    assert (landed.record_count, landed.source_part, landed.notes) == (2, "train", [])


def test_unknown_key_and_wrong_type_are_set_aside_with_their_line(tmp_path: Path) -> None:
    landed = land(tmp_path, LINE + b"\n" + item(id="x") + b"\n" + item(more=1.50) + b"\n", JSON_LINES, PATH)
    assert [row["record_index"] for row in read(tmp_path, landed)] == [0, 2]
    assert [(each["record_pointer"], each["error"]) for each in landed.quarantine] == [
        ("/1", "line 2: Expected `int`, got `str` - at `$[1].id`")
    ]
    assert [each["json_pointer"] for each in landed.extras] == ["/2/more"]


def test_file_that_may_be_cut_off_or_is_empty_is_noted(tmp_path: Path) -> None:
    cut = land(tmp_path, LINE + b"\n" + LINE, JSON_LINES, PATH)
    assert cut.notes == ["has a last line without a line break, which may be cut off"]
    assert land(tmp_path, b"", JSON_LINES, PATH).notes == ["is empty"]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (LINE + b"\n" + LINE[:20] + b"\n", "toy/train/items.jsonl: line 2 is not one JSON value: download it again"),
        (LINE + b" " + LINE + b"\n", "toy/train/items.jsonl: line 1 is not one JSON value: repair it, or"),
        (LINE + b"\n\n" + LINE + b"\n", "toy/train/items.jsonl: line 2 is blank: remove it"),
        *(
            (text, "toy/train/items.jsonl: line 1 is not one JSON value: each line must have a whole one")
            for text in (
                json.dumps([ITEM], indent=1).encode(),
                json.dumps(ITEM, indent=1).encode(),
                b"[%b,\n%b]" % (LINE, LINE),
            )
        ),
        (b"<html><body>log in</body></html>\n", "toy/train/items.jsonl: is a web page, not the file"),
    ],
)
def test_line_that_is_not_one_value_is_refused(tmp_path: Path, text: bytes, message: str) -> None:
    with pytest.raises(LandingError) as refused:
        land(tmp_path, text, JSON_LINES, PATH)
    assert str(refused.value).startswith(message)
    assert "\n" not in str(refused.value)


def test_restored_file_has_the_same_lines(tmp_path: Path) -> None:
    text = item(text="a\u2028b\nc") + b"\n" + LINE + b"\n"
    stream, file = io.BytesIO(), SourceFile(f"toy/{PATH}", PATH, None, 0, "")
    _, found = split_records(JSON_LINES, f"toy/{PATH}", text)
    write_records(RestoredFile(make_corpus(tmp_path, JSON_LINES), JSON_LINES, file, found), stream)
    assert stream.getvalue() == text
