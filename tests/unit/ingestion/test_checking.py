"""JSON that readers cannot keep is refused with file and position, or its record is set aside as a whole."""

from __future__ import annotations

import gzip
import json
import time
from pathlib import Path

import pytest

from dialogue_warehouse.common.json_values import DEEPEST, MOST_DIGITS, split_pointer
from dialogue_warehouse.releases.records import LandingError
from pipelines.ingestion import checking, landing
from tests.unit.item_files import DOCUMENT, ENTRIES, ITEM, ITEMS, SPLITS, land, make_corpus, read

TEXT = json.dumps(ITEM)[1:-1]
"""The members of an item, to be combined with others."""
DEEP = "[" * 5000 + "]" * 5000
DEEP_OBJECT = '{"a":' * 100_000 + "1" + "}" * 100_000


def with_members(members: str) -> str:
    """Return an item with more members at its beginning, as JSON text; they may repeat one of the item's."""
    return f"{{{members}, {TEXT}}}"


def land_among_others(tmp_path: Path, record: str):
    """Land the record between two valid ones."""
    return land(tmp_path, f"[{json.dumps(ITEM)}, {record}, {json.dumps(ITEM)}]".encode(), ITEMS)


REFUSED = {
    "unknown and repeated": (with_members('"zz": 1, "text": "FIRST"'), "the key 'text' occurs twice in an object"),
    "unknown twice": (with_members('"zz": 1, "zz": 2'), "the key 'zz' occurs twice in an object"),
    "repeated": (with_members('"text": "FIRST"'), "the key 'text' occurs twice in an object"),
    "repeated in an unknown key": (with_members('"zz": {"a": 1, "a": 2}'), "the key 'a' occurs twice in an object"),
    "half a pair twice": (with_members(r'"\ud83d": 1, "\ud83d": 2'), r"the key '\ud83d' occurs twice in an object"),
    "beyond a double": (with_members('"zz": 1e400'), "the number 1e400 is too large for a 64-bit float"),
    "below a double": (with_members('"zz": [-1e999]'), "the number -1e999 is too large for a 64-bit float"),
    "beyond a known double": (
        TEXT.join("{}").replace("1.5", "1e400"),
        "the number 1e400 is too large for a 64-bit float",
    ),
    "many digits": (with_members(f'"zz": {"9" * 10_000}'), "a number of 10,000 digits"),
    "many known digits": (TEXT.join("{}").replace('"id": 1', f'"id": {"9" * 10_000}'), "a number of 10,000 digits"),
    "deep": (with_members(f'"zz": {DEEP}'), f"nested more than {DEEPEST} levels deep"),
    "deep objects": (with_members(f'"zz": {DEEP_OBJECT}'), f"nested more than {DEEPEST} levels deep"),
    "deep in a known key": (
        TEXT.join("{}").replace('"tags": []', f'"tags": {DEEP}'),
        f"nested more than {DEEPEST} levels deep",
    ),
    "deep record": (DEEP, f"nested more than {DEEPEST} levels deep"),
    "too deep by one": (
        with_members(f'"zz": {"[" * DEEPEST}{"]" * DEEPEST}'),
        f"nested more than {DEEPEST} levels deep",
    ),
    "half a pair": (TEXT.join("{}").replace('"hi"', r'"\udc00"'), "a text has half a surrogate pair"),
    "unknown and half a pair": (
        with_members('"zz": 1').replace('"hi"', r'"\ud83dx"'),
        "a text has half a surrogate pair",
    ),
    "unknown and mistyped": (with_members('"zz": 1').replace('"hi"', "5"), "Expected `str | object | null`, got `int`"),
}


@pytest.mark.parametrize(("record", "reason"), REFUSED.values(), ids=list(REFUSED))
def test_record_that_would_lose_something_is_quarantined_as_a_whole(tmp_path: Path, record: str, reason: str) -> None:
    """Regression: the first value was lost, came back as Infinity, or ended in an internal error."""
    landed = land_among_others(tmp_path, record)
    (refused,) = landed.quarantine
    assert refused["error"].startswith(reason.replace(" - at `$", " - at `$[1]"))
    assert refused["error"].partition(" - at `$")[2].startswith("[1]")
    assert (refused["record_index"], refused["record_pointer"], refused["value"]) == (1, "/1", record)
    assert landed.extras == []
    assert [row["record_index"] for row in read(tmp_path, landed)] == [0, 2]
    assert landed.record_count == 3


KEPT = {
    "deep, but not too deep": f"{'[' * (DEEPEST - 1)}{']' * (DEEPEST - 1)}",
    "as many digits as are read": "9" * MOST_DIGITS,
    "a small number": "1e-400",
    "the largest double": "1.7976931348623157e308",
    "half a pair": r'"\ud83d"',
    "numerals": "[1.10, 1E2, -0, 100000000000000000000.0]",
    "half a pair as a key": r'{"\ude00": "\ud83d\ude00"}',
}


@pytest.mark.parametrize("value", KEPT.values(), ids=list(KEPT))
def test_unknown_value_that_can_be_restored_is_kept(tmp_path: Path, value: str) -> None:
    """The valid twins of the records that are set aside."""
    landed = land_among_others(tmp_path, with_members(f'"zz": {value}'))
    assert [extra["json_pointer"] for extra in landed.extras] == ["/1/zz"]
    assert json.loads(landed.extras[0]["value"]) == json.loads(value)
    if r"\ud" not in value:
        assert landed.extras[0]["value"] == value
    assert landed.quarantine == []
    assert len(read(tmp_path, landed)) == 3


def test_unknown_key_with_a_lone_surrogate_has_a_pointer_that_can_be_stored(tmp_path: Path) -> None:
    """Regression: UTF-8 has no bytes for it, and writing the table of extra keys failed."""
    landed = land_among_others(tmp_path, with_members(r'"~u/\ud83d": 1'))
    (extra,) = landed.extras
    assert extra["json_pointer"].encode() == b"/1/~0u~1~ud83d"
    assert split_pointer(extra["json_pointer"]) == ["1", "~u/\ud83d"]


def test_record_key_with_a_lone_surrogate_sets_its_record_aside(tmp_path: Path) -> None:
    landed = land(tmp_path, rb'{"a": ["x"], "\udc80": ["y"], "b": []}', ENTRIES, "entries.json")
    (refused,) = landed.quarantine
    assert refused == {
        "record_index": 1,
        "record_pointer": "/~udc80",
        "error": r"the key has half a surrogate pair - at `$.\udc80`",
        "value": '["y"]',
    }
    assert [row["record_key"] for row in read(tmp_path, landed)] == ["a", "b"]
    assert landed.record_count == 3


def test_record_with_a_repeated_key_is_set_aside(tmp_path: Path) -> None:
    """Regression: the build was aborted. The first record with the key is landed, the later ones are kept whole."""
    landed = land(tmp_path, b'{"a": ["x"], "b": [], "a": ["y"] , "a": 7}\n', ENTRIES, "entries.json")
    error = "the key 'a' occurs twice in the file - at `$.a`"
    assert landed.quarantine == [
        {"record_index": 2, "record_pointer": "/a", "error": error, "value": '["y"]'},
        {"record_index": 3, "record_pointer": "/a", "error": error, "value": "7"},
    ]
    rows = read(tmp_path, landed)
    assert [(row["record_index"], row["record_key"], row["value"]) for row in rows] == [(0, "a", ["x"]), (1, "b", [])]
    assert landed.record_count == 4


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            b'{"train": [], "train": []}',
            "the key 'train' occurs twice, at byte 23, line 1, column 24: repair it, or download it again",
        ),
        (
            rb'{"\ud83d": []}',
            r"the key '\ud83d' has half a surrogate pair, at byte 11, line 1, column 12: repair it, or download it again",
        ),
        (
            rb'{"train": [], "dev": "\ud83d"}',
            "expected `[` at byte 21, line 1, column 22: repair it, or download it again",
        ),
        (
            b'{"train": [' + b"[" * 5000,
            "not JSON, cut off at its end, byte 5011, line 1, column 5012: download it again",
        ),
        (
            b'{"train": [' + DEEP.encode() + b"]}]",
            "not JSON at byte 10013, line 1, column 10014: repair it, or download it again",
        ),
    ],
)
def test_file_with_ambiguous_parts_is_rejected_with_its_place(tmp_path: Path, text: bytes, message: str) -> None:
    with pytest.raises(LandingError) as refused:
        land(tmp_path, gzip.compress(text), SPLITS, "splits.json.gz")
    assert str(refused.value) == f"toy/splits.json.gz: {message}"


def test_parts_and_documents_with_deep_records_are_landed(tmp_path: Path) -> None:
    """In each container, only the record is set aside."""
    text = f'{{"dev": [{json.dumps(ITEM)}, {DEEP}], "train": []}}'
    landed = land(tmp_path, gzip.compress(text.encode()), SPLITS, "splits.json.gz")
    assert (landed.parts, landed.record_count, len(landed.quarantine)) == (["dev", "train"], 2, 1)
    assert landed.quarantine[0]["record_pointer"] == "/dev/1"
    landed = land(tmp_path, with_members(f'"zz": {DEEP}').encode(), DOCUMENT, "document.json")
    assert [record["record_pointer"] for record in landed.quarantine] == [""]


@pytest.mark.parametrize(
    ("text", "place"),
    [
        ("[" * 100_000, "not JSON, cut off at its end, byte 100000, line 1, column 100001: download it again"),
        (f"[{DEEP}, 01]", "not JSON at byte 10004, line 1, column 10005: repair it, or download it again"),
        (f"[{DEEP}}}", "not JSON at byte 10001, line 1, column 10002: repair it, or download it again"),
        (f"[{DEEP}, ]", "not JSON at byte 10003, line 1, column 10004: repair it, or download it again"),
        (f'[{DEEP}, {{"a"}}]', "not JSON at byte 10007, line 1, column 10008: repair it, or download it again"),
        (f"[{DEEP}, {{1: 2}}]", "not JSON at byte 10004, line 1, column 10005: repair it, or download it again"),
        (f'[{DEEP}, "\\x"]', "not JSON at byte 10003, line 1, column 10004: repair it, or download it again"),
        (f"[{DEEP}] 7", "not JSON at byte 10003, line 1, column 10004: repair it, or download it again"),
        ('[{"a": NaN}]', "not JSON, NaN at byte 7, line 1, column 8: repair it, or download it again"),
        ("[-Infinity]", "not JSON, -Infinity at byte 1, line 1, column 2: repair it, or download it again"),
        ("[NaNs]", "not JSON at byte 1, line 1, column 2: repair it, or download it again"),
        (f"[{DEEP}, nul]", "not JSON at byte 10003, line 1, column 10004: repair it, or download it again"),
        (r'["\ud83d" "b"]', "not JSON at byte 10, line 1, column 11: repair it, or download it again"),
        (f'[{DEEP}, "', "not JSON, cut off at its end, byte 10004, line 1, column 10005: download it again"),
        ('[{"dialogue_id": "1\\', "not JSON, cut off at its end, byte 20, line 1, column 21: download it again"),
    ],
)
def test_file_that_is_not_json_is_rejected_with_its_place_at_any_depth(tmp_path: Path, text: str, place: str) -> None:
    with pytest.raises(LandingError) as refused:
        land(tmp_path, text.encode(), ITEMS)
    assert str(refused.value) == f"toy/train/items.json: {place}"


def test_ten_thousand_rejected_records_take_seconds(tmp_path: Path) -> None:
    """Regression: they took 13 s, a millisecond and more each."""
    started = time.process_time()
    landed = land(tmp_path, gzip.compress(json.dumps([7] * 10_000).encode()), ITEMS, "train/items.json.gz")
    assert len(landed.quarantine) == 10_000
    assert time.process_time() - started < 3


def test_file_with_too_many_rejected_records_is_rejected(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """And its twin: the maximum number of records is set aside."""
    monkeypatch.setattr(checking, "MOST_REFUSED", 20)
    assert len(land(tmp_path, [7] * 20, ITEMS).quarantine) == 20
    with pytest.raises(LandingError) as refused:
        land(tmp_path, [7] * 21, ITEMS)
    assert str(refused.value) == (
        "toy/train/items.json: more than 20 of its records are refused, "
        "the first: Expected `object`, got `int` - at `$[0]`"
    )


def test_file_with_too_many_unknown_keys_is_rejected(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Unknown keys have the same limit as rejected records."""
    monkeypatch.setattr(checking, "MOST_EXTRAS", 20)
    assert len(land(tmp_path, [ITEM | {"zz": 1}] * 20, ITEMS).extras) == 20
    with pytest.raises(LandingError) as refused:
        land(tmp_path, [ITEM | {"zz": 1}] * 21, ITEMS)
    assert str(refused.value) == (
        "toy/train/items.json: more than 20 of its keys are not in the schema, the first at /0/zz"
    )


def damage_swapped(first: Path, second: Path) -> None:
    content = first.read_bytes()
    first.write_bytes(second.read_bytes())
    second.write_bytes(content)


DAMAGES = {
    "garbage": lambda first, second: first.write_bytes(b"garbage"),
    "cut": lambda first, second: first.write_bytes(first.read_bytes()[:-20]),
    "empty": lambda first, second: first.write_bytes(b""),
    "one bit": lambda first, second: first.write_bytes(
        first.read_bytes()[:100] + bytes([first.read_bytes()[100] ^ 1]) + first.read_bytes()[101:]
    ),
    "swapped": damage_swapped,
    "manifests swapped": lambda first, second: damage_swapped(first.with_suffix(".json"), second.with_suffix(".json")),
    "manifest gone": lambda first, second: first.with_suffix(".json").unlink(),
    "manifest garbage": lambda first, second: first.with_suffix(".json").write_bytes(b"\xff"),
    "manifest of another type": lambda first, second: first.with_suffix(".json").write_bytes(b"[]"),
}


@pytest.mark.parametrize("damage", DAMAGES.values(), ids=list(DAMAGES))
def test_damaged_raw_file_is_landed_again(tmp_path: Path, damage) -> None:
    """It was used unchanged until a landing was forced; swapped files failed in tests of keys."""
    first = land(tmp_path, [ITEM | {"text": "first"}], ITEMS)
    second = land(tmp_path, [ITEM | {"text": "secnd"}], ITEMS, "dev/items.json")
    damage(tmp_path / "raw" / first.parquet, tmp_path / "raw" / second.parquet)
    for path, text in (("train/items.json", "first"), ("dev/items.json", "secnd")):
        again = land(tmp_path, [ITEM | {"text": text}], ITEMS, path)
        assert [row["text"] for row in read(tmp_path, again)] == [text]


@pytest.mark.parametrize("content", [b"", b"garbage"])
def test_damaged_empty_file_is_written_again(tmp_path: Path, content: bytes) -> None:
    """Regression: not even `--force` repaired it."""
    corpus = make_corpus(tmp_path, ITEMS)
    empty = tmp_path / "raw" / landing.write_empty(corpus, ITEMS, tmp_path / "raw")
    whole = empty.read_bytes()
    empty.write_bytes(content)
    assert tmp_path / "raw" / landing.write_empty(corpus, ITEMS, tmp_path / "raw") == empty
    assert empty.read_bytes() == whole
