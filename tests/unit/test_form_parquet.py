"""Parquet files that unpack to far more than they are, or that are broken: refused in one line, in little memory."""

from __future__ import annotations

import copy
import io
import tracemalloc
from collections.abc import Callable
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from dialogue_warehouse.releases import form_files
from dialogue_warehouse.releases.form_files import FormFileError
from dialogue_warehouse.releases.unpacking import UNSUSPECTED
from tests.unit.form_rows import FRIENDS, changed, parquet, table_of

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
def test_file_that_unpacks_to_far_more_is_refused_before_it_does(write: Callable[[], bytes]) -> None:
    """A file of 15 KB with one text in a thousand rows took 3.3 GB."""
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


def test_large_texts_that_are_in_the_file_are_read() -> None:
    """Ten megabytes of text that a dictionary repeats are no bomb."""
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
def test_broken_file_is_refused_in_one_line(data: bytes) -> None:
    with pytest.raises(FormFileError, match=r"^c/x\.parquet: cannot be read as Parquet, [^\n]+$"):
        list(form_files.read_rows(TABLE, "c/x.parquet", data))


def test_file_without_row_groups_has_no_rows() -> None:
    stream = io.BytesIO()
    pq.ParquetWriter(stream, TABLE.columns).close()
    assert pq.ParquetFile(stream).num_row_groups == 0
    assert list(form_files.read_rows(TABLE, "x.parquet", stream.getvalue())) == []
