"""Files of other forms: read strictly and with little memory, landed like the release, rejected in one line."""

from __future__ import annotations

import copy
import io
import json
import tracemalloc
from collections.abc import Callable
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from dialogue_warehouse.corpora import forms, registry
from dialogue_warehouse.errors import InputError
from dialogue_warehouse.releases import form_files
from dialogue_warehouse.releases.form_files import FormFileError
from dialogue_warehouse.releases.unpacking import UNSUSPECTED
from dialogue_warehouse.storage.landed import Landed
from pipelines.ingestion.landing import LandingTask, land_file
from tests.unit.form_rows import (
    EXAMPLES,
    FRIENDS,
    changed,
    lines,
    parquet,
    table_of,
)


def refusal(table: forms.Table, path: str, data: bytes) -> str:
    with pytest.raises(FormFileError) as caught:
        list(form_files.read_rows(table, path, data))
    return str(caught.value)


def land(tmp_path: Path, corpus_id: str, data: bytes, suffix: str, strict: bool = False) -> Landed:
    """Write a file of the form's first table and land it."""
    corpus, form = registry.load_corpus(corpus_id), registry.load_form(corpus_id, "huggingface")
    assert form
    path = f"{form.stem(form.tables[0], 'validation')}{suffix}"
    (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
    (tmp_path / path).write_bytes(data)
    return land_file(
        LandingTask(corpus, corpus.entities[0], tmp_path, path, tmp_path / "raw", strict=strict, form=form)
    )


@pytest.mark.parametrize(("corpus_id", "row", "record"), EXAMPLES)
def test_json_lines_and_parquet_land_the_same_rows(corpus_id: str, row: dict, record: dict, tmp_path: Path) -> None:
    table = table_of(corpus_id)
    landed = [
        land(tmp_path, corpus_id, parquet(table, [row, row]), ".parquet"),
        land(tmp_path, corpus_id, lines(row, row), ".jsonl"),
    ]
    read = [
        duckdb.sql(f"select * exclude (source_file_id) from '{tmp_path / 'raw' / file.parquet}'") for file in landed
    ]
    assert read[0].fetchall() == read[1].fetchall()
    assert len(read[0].fetchall()) == 2
    released = (
        tmp_path / ("dev" if corpus_id == "sgd" else "") / ("dialogues_001.json" if corpus_id == "sgd" else "dev.json")
    )
    released.parent.mkdir(exist_ok=True)
    released.write_text(json.dumps([record, record]), encoding="utf-8")
    corpus = registry.load_corpus(corpus_id)
    path = released.relative_to(tmp_path).as_posix()
    plain = land_file(LandingTask(corpus, corpus.entities[0], tmp_path, path, tmp_path / "raw"))
    expected = duckdb.sql(f"select * exclude (source_file_id) from '{tmp_path / 'raw' / plain.parquet}'")
    assert read[0].fetchall() == expected.fetchall()
    assert [str(of) for of in read[0].types] == [str(of) for of in expected.types]
    assert read[0].columns == expected.columns
    assert [(file.source_part, file.form, file.losses) for file in landed] == [
        ("dev", "huggingface", list(table.losses))
    ] * 2
    assert (plain.source_part, plain.form, plain.losses) == ("dev", "release", [])


@pytest.mark.parametrize(
    ("corpus_id", "path", "value", "message"),
    [
        ("mutualfriends", "events/times", [1.0], "lists of different length at /events: actions 2,"),
        ("mutualfriends", "events/actions/0", "join", "action 'join' at /events/actions/0, for which the form has no"),
        (
            "mutualfriends",
            "events/data_messages/1",
            "hi",
            "a select has an unexpected value at /events/data_messages, position 1",
        ),
        (
            "mutualfriends",
            "events/start_times/1",
            5.0,
            "start time 5.0 at /events/start_times/1; this form has only -1",
        ),
        (
            "mutualfriends",
            "events/data_selects/values/1",
            ["Ann"],
            "different length at /events/data_selects/*/1: names 2",
        ),
        (
            "mutualfriends",
            "scenario_kbs/0/0",
            [["Name"]],
            "1 lists at /scenario_kbs/0/0, where two are expected: names and values",
        ),
        (
            "mutualfriends",
            "scenario_kbs/0/0/0",
            ["Name", "Name"],
            "a name occurs twice at /scenario_kbs/0/0: Name, Name",
        ),
        ("mutualfriends", "agents/0", None, "null at /agents/0, where this form has a value"),
        (
            "mutualfriends",
            "scenario_alphas/0",
            float("nan"),
            "nan at /scenario_alphas/0, which is not possible in JSON",
        ),
        ("sgd", "turns/speaker/1", 2, "class id 2 at /turns/speaker/1, but there are only 2 classes"),
        (
            "sgd",
            "turns/frames/0/actions/0/act/0",
            99,
            "class id 99 at /turns/frames/0/actions/0/act/0, but there are only 18",
        ),
        ("sgd", "turns/frames/0/actions/0/act/0", -1, "class id -1 at"),
        ("sgd", "turns/utterance", ["x"], "lists of different length at /turns: speaker 2, utterance 1, frames 2"),
        (
            "sgd",
            "turns/frames/0/state",
            [],
            "lists of different length at /turns/frames/0: service 1, slots 1, state 0",
        ),
        ("sgd", "turns/frames/0/slots/0/start", [], "lists of different length at /turns/frames/0/slots/0: slot 1"),
        ("sgd", "turns/frames", None, "null at /turns/frames, where this form has a value"),
    ],
)
def test_row_that_cannot_be_converted_is_quarantined_as_a_whole(
    tmp_path: Path, corpus_id: str, path: str, value: Any, message: str
) -> None:
    row = next(row for corpus, row, _ in EXAMPLES if corpus == corpus_id)
    bad = changed(row, path, value)
    landed = land(tmp_path, corpus_id, parquet(table_of(corpus_id), [row, bad, row]), ".parquet")
    (record,) = landed.quarantine
    assert message in record["error"]
    assert record["error"].endswith(" - at `$[1]`")
    assert (record["record_index"], record["record_pointer"], landed.record_count) == (1, "/1", 3)
    stands_for = bad if value == value else changed(row, path, "nan")  # no JSON holds a number that is none
    assert json.loads(record["value"]) == stands_for
    kept = duckdb.sql(f"select record_index from '{tmp_path / 'raw' / landed.parquet}'").fetchall()
    assert kept == [(0,), (2,)]
    with pytest.raises(InputError, match="at `"):
        land(tmp_path, corpus_id, parquet(table_of(corpus_id), [row, bad, row]), ".parquet", strict=True)


@pytest.mark.parametrize(
    ("name", "of", "message"),
    [
        ("agents", None, "column agents is missing"),
        ("more", pa.int32(), "column more is unknown: remove it from the file"),
        ("outcome_reward", pa.string(), "column outcome_reward is string, not int32"),
        ("outcome_reward", pa.bool_(), "column outcome_reward is bool, not int32"),
        ("outcome_reward", pa.timestamp("us", tz="Nowhere/Nothing"), "outcome_reward is timestamp[us, tz=Nowhere"),
        ("scenario_alphas", pa.list_(pa.string()), "column scenario_alphas is string, not float"),
        ("scenario_alphas", pa.float32(), "column scenario_alphas is float, not list"),
        ("events", pa.int8(), "column events is int8, not struct"),
        ("uuid", pa.list_(pa.string()), "column uuid is list, not string"),
        ("agents", pa.struct([("1", pa.string())]), "column agents.0 is missing"),
        ("agents", pa.struct([("1", pa.string()), ("0", pa.int32())]), "column agents.0 is int32, not string"),
    ],
)
def test_parquet_with_other_columns_is_rejected(name: str, of: pa.DataType | None, message: str) -> None:
    table = table_of("mutualfriends")
    fields = {field.name: field.type for field in table.columns} | {name: of}
    schema = pa.schema([(field, kind) for field, kind in fields.items() if kind is not None])
    assert refusal(table, "c/x.parquet", parquet(table, [], schema)).startswith("c/x.parquet: column ")
    assert message in refusal(table, "c/x.parquet", parquet(table, [], schema))


def test_bytes_that_are_not_parquet_are_rejected() -> None:
    table = table_of("mutualfriends")
    assert refusal(table, "c/x.parquet", b"<html>").startswith("c/x.parquet: cannot be read as Parquet, ")
    whole = parquet(table, [FRIENDS])
    assert refusal(table, "c/x.parquet", whole[: len(whole) // 2]).startswith(
        "c/x.parquet: cannot be read as Parquet, "
    )


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (lines(FRIENDS, {**FRIENDS, "more": 1}), "line 2: column more is unknown: remove it from the file"),
        (lines({key: FRIENDS[key] for key in FRIENDS if key != "uuid"}), "line 1: column uuid is missing"),
        (lines(changed(FRIENDS, "outcome_reward", 1.5)), "line 1: column outcome_reward has 1.5, which is not int32"),
        (lines(changed(FRIENDS, "outcome_reward", 2**31)), "outcome_reward has 2147483648, which is not int32"),
        (lines(changed(FRIENDS, "outcome_reward", True)), "column outcome_reward has true, which is not int32"),
        (lines(changed(FRIENDS, "events/times/0", "5")), 'column events.times has "5", which is not float'),
        (
            lines(changed(FRIENDS, "outcome_reward", float(2**31))),
            "outcome_reward has 2147483648.0, which is not int32",
        ),
        (lines(changed(FRIENDS, "events/times/0", 1480737323.5)), "events.times has 1480737323.5, which is not float"),
        (lines(changed(FRIENDS, "events", 3)), "column events has 3, which is not struct"),
        (lines(changed(FRIENDS, "events", "{")), "column events has a text that is not JSON"),
        (lines(changed(FRIENDS, "agents", [])), "column agents has [], which is not struct"),
        (lines(FRIENDS)[:-2], "line 1, column "),
        (lines(FRIENDS) + b"\n" + lines(FRIENDS), "line 2, column 1: the line is blank"),
        (b'{"uuid": 1, "uuid": 2}\n', "line 1, column 1: not JSON, the key 'uuid' occurs twice in an object"),
        (b'{"uuid": NaN}\n', "line 1, column 1: not JSON, NaN is not JSON"),
        (b"\xff\n", "line 1, column 1: not JSON, 'utf-8' codec"),
        (b"null\n", "line 1, column 1: null is not a row"),
        (b"3\n", "line 1, column 1: 3 is not a row"),
    ],
)
def test_json_lines_of_another_shape_are_rejected(data: bytes, message: str) -> None:
    assert message in refusal(table_of("mutualfriends"), "c/x.jsonl", data)


def test_json_line_with_a_lone_surrogate_is_set_aside(tmp_path: Path) -> None:
    landed = land(tmp_path, "mutualfriends", lines(changed(FRIENDS, "uuid", "\ud800")), ".jsonl")
    assert [record["record_index"] for record in landed.quarantine] == [0]


def test_numbers_in_json_lines_are_rounded_like_the_column() -> None:
    row = changed(FRIENDS, "scenario_alphas", [0.3, 1])
    (read,) = form_files.read_rows(table_of("mutualfriends"), "x.jsonl", lines(row))
    assert read["scenario_alphas"] == [forms.single_precision(0.3), 1.0]


@pytest.mark.parametrize(
    "data",
    [
        lines(FRIENDS, FRIENDS)[:-1],
        lines(FRIENDS, FRIENDS) + b"\n\r\n",
        lines(FRIENDS, FRIENDS).replace(b"\n", b"\r\n"),
        lines({**FRIENDS, "__index_level_0__": 3}, FRIENDS),
    ],
    ids=["no end", "blank end", "CRLF", "index of pandas"],
)
def test_json_lines_are_read_with_every_line_end(data: bytes) -> None:
    """Regression: the end of the last line was required: https://github.com/Modalities/modalities/issues/395."""
    assert list(form_files.read_rows(table_of("mutualfriends"), "x.jsonl", data)) == [FRIENDS, FRIENDS]


@pytest.mark.parametrize("data", [b"", b"\n", parquet(table_of("mutualfriends"), [])])
def test_file_without_rows_has_none(data: bytes) -> None:
    path = "x.parquet" if data.startswith(b"PAR1") else "x.jsonl"
    assert list(form_files.read_rows(table_of("mutualfriends"), path, data)) == []


TABLE = table_of("mutualfriends")
LARGE = "a" * 2_000_000


def written(table: pa.Table, **options: Any) -> bytes:
    stream = io.BytesIO()
    pq.write_table(table, stream, compression="zstd", **options)
    return stream.getvalue()


def rows_of(row: dict, number: int = 1) -> pa.Table:
    return pa.Table.from_pylist([row], schema=TABLE.columns).take(pa.array([0] * number))


def texts_of_dictionary() -> pa.DictionaryArray:
    return pa.DictionaryArray.from_arrays(pa.array([0] * 300, pa.int32()), pa.array([LARGE]))


def one_text_in_each_row() -> bytes:
    return written(rows_of(FRIENDS, 300).set_column(0, "uuid", texts_of_dictionary()))


def one_text_in_each_message() -> bytes:
    rows = rows_of(FRIENDS)
    events = rows.column("events").combine_chunks()
    members = {field.name: events.field(field.name) for field in events.type}
    members["data_messages"] = pa.ListArray.from_arrays(pa.array([0, 300], pa.int32()), texts_of_dictionary())
    events = pa.StructArray.from_arrays(list(members.values()), list(members))
    return written(rows.set_column(rows.column_names.index("events"), "events", events))


def texts_that_share_prefixes() -> bytes:
    rows = [changed(FRIENDS, "uuid", LARGE[: len(LARGE) - number]) for number in range(20)]
    table = pa.Table.from_pylist(rows, schema=TABLE.columns)
    return written(table, use_dictionary=False, column_encoding={"uuid": "DELTA_BYTE_ARRAY"})


def one_large_text() -> bytes:
    return written(rows_of(changed(FRIENDS, "uuid", LARGE * 10)), use_dictionary=False)


def texts_of_one_width() -> bytes:
    texts = pa.array([LARGE.encode()], pa.binary(len(LARGE))).take(pa.array([0] * 20))
    return written(rows_of(FRIENDS, 20).set_column(0, "uuid", texts))


def nulls_in_a_list() -> bytes:
    return written(rows_of(changed(FRIENDS, "scenario_alphas", [None] * 2_500_000)))


def empty_lists_in_a_list() -> bytes:
    return written(rows_of(changed(FRIENDS, "scenario_kbs", [[]] * 2_500_000)))


def rows_of_nulls() -> bytes:
    return written(pa.table({field.name: pa.nulls(300_000, field.type) for field in TABLE.columns}, TABLE.columns))


@pytest.mark.parametrize(
    "write",
    [
        one_text_in_each_row,
        one_text_in_each_message,
        texts_that_share_prefixes,
        one_large_text,
        texts_of_one_width,
        nulls_in_a_list,
        empty_lists_in_a_list,
        rows_of_nulls,
    ],
)
def test_decompression_bomb_is_rejected_before_it_is_unpacked(write: Callable[[], bytes]) -> None:
    """Regression: a file of 15 KB with one text in a thousand rows took 3.3 GB."""
    data = write()
    usual = pa.default_memory_pool()
    watched = pa.proxy_memory_pool(usual)
    pa.set_memory_pool(watched)
    tracemalloc.start()
    try:
        with pytest.raises(FormFileError, match=r"^c/x\.parquet: unpacks to more than [\d,]+ bytes, out of [\d,]+$"):
            list(form_files.read_rows(TABLE, "c/x.parquet", data))
        peaks = watched.max_memory(), tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
        pa.set_memory_pool(usual)
    assert max(peaks) < 4 * UNSUSPECTED


def test_large_texts_are_read() -> None:
    """Ten megabytes of text that a dictionary repeats are not a bomb."""
    row = copy.deepcopy(FRIENDS)
    row["events"]["data_messages"][0] = "a" * 10_000
    assert sum(1 for _ in form_files.read_rows(TABLE, "x.parquet", written(rows_of(row, 1_000)))) == 1_000


def broken(change: Callable[[bytes], bytes]) -> bytes:
    return change(parquet(TABLE, [FRIENDS]))


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"PAR1",
        b"PAR1PAR1",
        broken(lambda data: data[:-1]),
        broken(lambda data: data[: len(data) // 2]),
        broken(lambda data: data[:-8] + b"\xff\xff\xff\x7fPAR1"),
        broken(lambda data: data[:-8] + b"\0\0\0\0PAR1"),
        broken(lambda data: data[:-4] + b"PARE"),
        broken(lambda data: b"PARE" + data[4:-4] + b"PARE"),
        broken(lambda data: data[:4] + b"\xff" * 200 + data[204:]),
        broken(lambda data: data.replace(b"/////", b"!!!!!")),
        b"<html>",
    ],
    ids=str,
)
def test_broken_file_is_rejected_in_one_line(data: bytes) -> None:
    with pytest.raises(FormFileError, match=r"^c/x\.parquet: cannot be read as Parquet, [^\n]+$"):
        list(form_files.read_rows(TABLE, "c/x.parquet", data))


def test_file_without_row_groups_has_no_rows() -> None:
    stream = io.BytesIO()
    pq.ParquetWriter(stream, TABLE.columns).close()
    assert pq.ParquetFile(stream).num_row_groups == 0
    assert list(form_files.read_rows(TABLE, "x.parquet", stream.getvalue())) == []
