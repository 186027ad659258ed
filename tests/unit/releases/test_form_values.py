"""Republications with other column types: the same values are the same rows, with any writer."""

from __future__ import annotations

import io
import json
import tempfile
from collections.abc import Callable
from decimal import Decimal
from pathlib import Path
from typing import Any

import duckdb
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.json
import pyarrow.parquet as pq
import pytest

from dialogue_warehouse.corpora import forms
from dialogue_warehouse.releases import form_files, form_values
from dialogue_warehouse.releases.form_files import FormFileError
from tests.unit.form_rows import EXAMPLES, FRIENDS, SCHEMA_GUIDED, changed, lines, table_of

FRIENDS_TABLE, GUIDED_TABLE = table_of("mutualfriends"), table_of("sgd")
Write = Callable[[pa.Table], bytes]


def written(table: pa.Table, **options: Any) -> bytes:
    stream = io.BytesIO()
    pq.write_table(table, stream, **options)
    return stream.getvalue()


def retyped(
    leaf: Callable[[pa.DataType], pa.DataType], as_list: Callable[[pa.DataType], pa.DataType] = pa.list_
) -> Write:
    """Write the same values with other types of plain columns and lists."""

    def type_of(of: pa.DataType) -> pa.DataType:
        if pa.types.is_struct(of):
            return pa.struct([(of.field(i).name, type_of(of.field(i).type)) for i in range(of.num_fields)])
        return as_list(type_of(of.value_type)) if pa.types.is_list(of) else leaf(of)

    def write(table: pa.Table) -> bytes:
        schema = pa.schema([(field.name, type_of(field.type)) for field in table.schema])
        rows = [{field.name: fitted(row[field.name], field.type) for field in schema} for row in table.to_pylist()]
        return written(pa.Table.from_pylist(rows, schema=schema))

    return write


def fitted(value: Any, of: pa.DataType) -> Any:
    """Return the value as pyarrow takes it for a column of this type."""
    if isinstance(value, dict):
        return {name: fitted(member, of.field(name).type) for name, member in value.items()}
    if isinstance(value, list):
        return [fitted(item, of.value_type) for item in value]
    if pa.types.is_integer(of):
        return int(value)
    if pa.types.is_decimal(of):
        return Decimal(value)
    return float(value) if pa.types.is_floating(of) else value


def integers(of: pa.DataType) -> Write:
    return retyped(lambda leaf: of if pa.types.is_integer(leaf) else leaf)


def floats(of: pa.DataType) -> Write:
    return retyped(lambda leaf: of if pa.types.is_floating(leaf) else leaf)


def strings(of: pa.DataType) -> Write:
    return retyped(lambda leaf: of if pa.types.is_string(leaf) else leaf)


def booleans(of: pa.DataType) -> Write:
    return retyped(lambda leaf: of if pa.types.is_boolean(leaf) else leaf)


def in_another_order(table: pa.Table) -> bytes:
    def type_of(of: pa.DataType) -> pa.DataType:
        if pa.types.is_struct(of):
            places = reversed(range(of.num_fields))
            return pa.struct([(of.field(i).name, type_of(of.field(i).type)) for i in places])
        return pa.list_(type_of(of.value_type)) if pa.types.is_list(of) else of

    schema = pa.schema([(field.name, type_of(field.type)) for field in reversed(list(table.schema))])
    return written(pa.Table.from_pylist(table.to_pylist(), schema=schema))


def as_lists_of_objects(value: Any, of: pa.DataType) -> Any:
    """Return the value with each object of parallel lists as a list of objects, as in newer versions of `datasets`."""
    if value is None or not pa.types.is_nested(of):
        return value
    if pa.types.is_list(of):
        return [as_lists_of_objects(item, of.value_type) for item in value]
    element = form_values.element_of(of)
    if element is None:
        return {name: as_lists_of_objects(member, of.field(name).type) for name, member in value.items()}
    return [as_lists_of_objects(item, element) for item in items_of(value, of)]


def items_of(value: dict[str, Any], of: pa.DataType) -> list[dict[str, Any]]:
    columns = {
        name: items_of(member, of.field(name).type) if pa.types.is_struct(of.field(name).type) else member
        for name, member in value.items()
    }
    return [dict(zip(columns, items, strict=True)) for items in zip(*columns.values(), strict=True)]


def turned(table: pa.Table) -> list[dict[str, Any]]:
    rows = table.to_pylist()
    return [{field.name: as_lists_of_objects(row[field.name], field.type) for field in table.schema} for row in rows]


def nested_as_json(of: pa.DataType) -> Write:
    """Write nested columns as JSON texts."""

    def write(table: pa.Table) -> bytes:
        columns = {}
        for field in table.schema:
            column = table.column(field.name).combine_chunks()
            if pa.types.is_nested(field.type):
                column = pa.array([json.dumps(value) for value in column.to_pylist()])
                column = pa.ExtensionArray.from_storage(of, column) if of == pa.json_() else column
            columns[field.name] = column
        return written(pa.table(columns))

    return write


def of_pandas(table: pa.Table, index: list[str] | None = None, name: str | None = None) -> bytes:
    frame = table.to_pandas()
    if index is not None:
        frame = frame.set_index(pd.Index(index, name=name))
    stream = io.BytesIO()
    frame.to_parquet(stream)
    return stream.getvalue()


def of_polars(table: pa.Table) -> bytes:
    stream = io.BytesIO()
    frame = pl.from_arrow(table)
    assert isinstance(frame, pl.DataFrame)
    frame.write_parquet(stream)
    return stream.getvalue()


def plain_lines(table: pa.Table) -> bytes:
    return lines(*table.to_pylist())


def of_duckdb(version: str) -> Write:
    """Let DuckDB write a table; version 2 has texts after their lengths, which Arrow reads without a dictionary."""

    def write(table: pa.Table) -> bytes:
        with tempfile.TemporaryDirectory() as folder, duckdb.connect() as con:
            file = Path(folder, "x.parquet")
            con.register("rows", table)
            con.execute(f"copy rows to '{file}' (format parquet, parquet_version {version})")
            return file.read_bytes()

    return write


WRITERS: dict[str, Write] = {
    "int8": integers(pa.int8()),
    "int64": integers(pa.int64()),
    "uint64": integers(pa.uint64()),
    "whole numbers as double": integers(pa.float64()),
    "whole numbers as half": integers(pa.float16()),
    "whole numbers as decimal": integers(pa.decimal128(20, 3)),
    "double": floats(pa.float64()),
    "decimal": floats(pa.decimal128(38, 24)),
    "large string": strings(pa.large_string()),
    "string view": strings(pa.string_view()),
    "binary": strings(pa.binary()),
    "binary view": strings(pa.binary_view()),
    "dictionary": strings(pa.dictionary(pa.int32(), pa.string())),
    "large list": retyped(lambda leaf: leaf, pa.large_list),
    "list view": retyped(lambda leaf: leaf, pa.list_view),
    "booleans as int8": booleans(pa.int8()),
    "booleans as double": booleans(pa.float64()),
    "another order": in_another_order,
    "inferred types": lambda table: written(pa.Table.from_pylist(table.to_pylist())),
    "lists of objects": lambda table: written(pa.Table.from_pylist(turned(table))),
    "extension for JSON": nested_as_json(pa.json_()),
    "JSON texts": nested_as_json(pa.string()),
    "pandas": of_pandas,
    "pandas, index": lambda table: of_pandas(table, ["a", "b"]),
    "pandas, named index": lambda table: of_pandas(table, ["a", "b"], "idx"),
    "index kept by datasets": lambda table: written(table.append_column("__index_level_0__", pa.array([7, 8]))),
    "pandas, index as a column": lambda table: written(table.append_column("index", pa.array([7, 8]))),
    "polars, numbers of rows": lambda table: written(table.add_column(0, "row_nr", pa.array([0, 1], pa.uint32()))),
    "polars": of_polars,
    "read_json": lambda table: written(pa.json.read_json(io.BytesIO(plain_lines(table)))),
    "row groups": lambda table: written(table, row_group_size=1),
    "no schema of Arrow": lambda table: written(table, store_schema=False),
    "DuckDB": of_duckdb("v1"),
    "DuckDB, version 2": of_duckdb("v2"),
    "shared prefixes": lambda table: written(
        table, use_dictionary=False, column_encoding={table.column_names[0]: "DELTA_BYTE_ARRAY"}
    ),
}
LINES: dict[str, Write] = {
    "lines": plain_lines,
    "lines of pandas": lambda table: table.to_pandas().to_json(orient="records", lines=True).encode(),
    "lines of polars": lambda table: pl.DataFrame(pl.from_arrow(table)).write_ndjson().encode(),
    "lines of objects": lambda table: lines(*turned(table)),
    "lines with numbers": lambda table: lines(*({"Unnamed: 0": 5, **row} for row in table.to_pylist())),
}


@pytest.mark.parametrize("name", [*WRITERS, *LINES])
@pytest.mark.parametrize(("corpus_id", "row", "_"), EXAMPLES)
def test_same_values_are_the_same_rows(corpus_id: str, row: dict, _: dict, name: str) -> None:
    """Regression: `load_dataset("json").to_parquet()` writes double and int64, polars string views; both were rejected.

    https://github.com/pola-rs/polars/issues/26427
    """
    table = table_of(corpus_id)
    rows = pa.Table.from_pylist([row, row], schema=table.columns)
    if corpus_id == "sgd" and name in ("string view", "binary view"):
        pytest.skip("pyarrow writes no views in lists of lists")
    data = {**WRITERS, **LINES}[name](rows)
    path = "x.jsonl" if name in LINES else "x.parquet"
    assert list(form_files.read_rows(table, path, data)) == [row, row]


def test_column_of_other_values_is_not_an_index_under_any_name() -> None:
    """A column `index` with text is data of the publisher: it is rejected, not left out."""
    rows = pa.Table.from_pylist([FRIENDS], schema=FRIENDS_TABLE.columns).append_column("index", pa.array(["a"]))
    for path, data in (("x.parquet", written(rows)), ("x.jsonl", plain_lines(rows))):
        with pytest.raises(FormFileError, match="column index is unknown: remove it from the file"):
            list(form_files.read_rows(FRIENDS_TABLE, path, data))


def test_object_is_read_from_a_map_and_from_keys_and_values() -> None:
    rows = pa.Table.from_pylist([FRIENDS], schema=FRIENDS_TABLE.columns)
    place = rows.column_names.index("agents")
    pairs = list(FRIENDS["agents"].items())
    for agents in (
        pa.array([pairs], pa.map_(pa.string(), pa.string())),
        pa.array([[{"key": key, "value": value} for key, value in pairs]]),
    ):
        data = written(rows.set_column(place, "agents", agents))
        assert list(form_files.read_rows(FRIENDS_TABLE, "x.parquet", data)) == [FRIENDS]
    twice = pa.array([[*pairs, pairs[0]]], pa.map_(pa.string(), pa.string()))
    with pytest.raises(FormFileError, match="row 1 of 1: column agents has a key twice"):
        list(form_files.read_rows(FRIENDS_TABLE, "x.parquet", written(rows.set_column(place, "agents", twice))))


@pytest.mark.parametrize(
    ("write", "place", "value", "message"),
    [
        (integers(pa.float64()), "outcome_reward", 2.5, "column outcome_reward has 2.5, which is not int32"),
        (integers(pa.int64()), "outcome_reward", 2**31, "column outcome_reward has 2147483648, which is not int32"),
        (integers(pa.float64()), "outcome_reward", float("nan"), "column outcome_reward has NaN, which is not int32"),
        (integers(pa.decimal128(20, 3)), "events/agents/1", Decimal("0.5"), 'column events.agents has "0.500"'),
        (floats(pa.float64()), "events/times/0", 1480737323.5, "column events.times has 1480737323.5, which is not"),
        (floats(pa.float64()), "events/times/0", 1e300, "column events.times has 1e+300, which is not float"),
        (floats(pa.int64()), "scenario_alphas", [2**24 + 1], "column scenario_alphas has 16777217, which is not float"),
        (booleans(pa.int8()), "scenario_attributes/unique/0", 2, "column scenario_attributes.unique has 2, which is"),
        (strings(pa.binary()), "uuid", b"\xff", "column uuid has bytes that are not UTF-8"),
    ],
)
def test_value_that_does_not_fit_is_rejected_with_its_row_and_column(
    write: Write, place: str, value: Any, message: str
) -> None:
    row = changed(FRIENDS, "scenario_alphas", [1.0, 2.0])
    schema = pq.read_schema(io.BytesIO(write(pa.Table.from_pylist([row], schema=FRIENDS_TABLE.columns))))
    rows = [
        {field.name: fitted_but_for(one[field.name], field.type, value) for field in schema}
        for one in (row, changed(row, place, value), row)
    ]
    data = written(pa.Table.from_pylist(rows, schema=schema))
    with pytest.raises(FormFileError, match=r"^c/x\.parquet: row 2 of 3: ") as caught:
        list(form_files.read_rows(FRIENDS_TABLE, "c/x.parquet", data))
    assert message in str(caught.value)


def fitted_but_for(value: Any, of: pa.DataType, kept: Any) -> Any:
    """Return the value as pyarrow takes it; `kept` values are unchanged."""
    if isinstance(value, dict):
        return {name: fitted_but_for(member, of.field(name).type, kept) for name, member in value.items()}
    if isinstance(value, list):
        return [fitted_but_for(item, of.value_type, kept) for item in value]
    return value if value is kept or (isinstance(value, float) and value != value) else fitted(value, of)


@pytest.mark.parametrize(
    ("value", "read"),
    [
        (forms.single_precision(0.3), forms.single_precision(0.3)),
        (0.3, forms.single_precision(0.3)),
        (0.3000000119, forms.single_precision(0.3)),
        (1480737300.0, 1480737280.0),
        (2**24, 2.0**24),
    ],
    ids=["double", "fewest digits", "ten digits", "fewest digits of a time", "whole"],
)
def test_number_has_the_32_bits_that_it_was_written_from(value: float, read: float) -> None:
    """Writers of JSON print a 32-bit number with fewer digits than its 64 bits have, each in its own way."""
    (row,) = form_files.read_rows(FRIENDS_TABLE, "x.jsonl", lines(changed(FRIENDS, "scenario_alphas", [value])))
    assert row["scenario_alphas"] == [read]


SPEAKERS, ACTS = GUIDED_TABLE.class_names.values()


def named_classes() -> dict[str, Any]:
    """Return the row with the name of each class in place of its id."""
    row = changed(SCHEMA_GUIDED, "turns/speaker", [SPEAKERS[number] for number in SCHEMA_GUIDED["turns"]["speaker"]])
    for turn, frames in enumerate(SCHEMA_GUIDED["turns"]["frames"]):
        for frame, actions in enumerate(frames["actions"]):
            place = f"turns/frames/{turn}/actions/{frame}/act"
            row = changed(row, place, [ACTS[number] for number in actions["act"]])
    return row


def test_classes_are_read_by_name() -> None:
    """Data frames have the names of classes; a file of `datasets` has their numbers."""
    row = named_classes()
    for path, data in (("x.parquet", written(pa.Table.from_pylist([row]))), ("x.jsonl", lines(row))):
        assert list(form_files.read_rows(GUIDED_TABLE, path, data)) == [SCHEMA_GUIDED]
    unknown = changed(row, "turns/speaker/1", "ROBOT")
    with pytest.raises(FormFileError, match=r'line 1: column turns.speaker has the unknown class "ROBOT"'):
        list(form_files.read_rows(GUIDED_TABLE, "x.jsonl", lines(unknown)))


def features_of(speakers: Any, notation: str) -> dict[str, Any]:
    """Return the features of a file, in the notations of several versions of `datasets`."""
    label = {"names": speakers, "_type": "ClassLabel"}
    match notation:
        case "sequence":
            return {"turns": {"feature": {"speaker": label}, "_type": "Sequence"}}
        case "lists":
            return {"turns": {"speaker": {"feature": label, "_type": "List"}}}
        case "list of objects":
            return {"turns": {"feature": {"speaker": label}, "_type": "List"}}
        case _:
            return {"turns": [{"speaker": [label]}]}


def with_features(rows: list[dict], features: Any) -> bytes:
    info = features if isinstance(features, bytes) else json.dumps({"info": {"features": features}})
    return written(pa.Table.from_pylist(rows, schema=GUIDED_TABLE.columns.with_metadata({"huggingface": info})))


@pytest.mark.parametrize("notation", ["sequence", "lists", "list of objects", "brackets"])
def test_class_ids_are_converted_to_the_names_in_the_file(notation: str) -> None:
    own = ["ROBOT", "SYSTEM", "USER"]
    ids = [own.index(SPEAKERS[number]) for number in SCHEMA_GUIDED["turns"]["speaker"]]
    features = features_of(own, notation)
    data = with_features([changed(SCHEMA_GUIDED, "turns/speaker", ids)], features)
    assert list(form_files.read_rows(GUIDED_TABLE, "x.parquet", data)) == [SCHEMA_GUIDED]
    for number, reported in ((0, '"ROBOT"'), (3, "3"), (-1, "-1")):
        data = with_features([changed(SCHEMA_GUIDED, "turns/speaker/0", number)], features)
        with pytest.raises(FormFileError, match=f"column turns.speaker has the unknown class {reported}"):
            list(form_files.read_rows(GUIDED_TABLE, "x.parquet", data))


@pytest.mark.parametrize(
    ("place", "value", "reported"),
    [
        ("turns/speaker/0", 10**400, r"column turns\.speaker has 10{39}, which is not int64"),
        ("turns", [{"key": [1], "value": 2}], r"column turns\.speaker is missing"),
    ],
    ids=["number", "key"],
)
def test_value_that_no_column_can_have_is_refused_in_one_line(place: str, value: Any, reported: str) -> None:
    """Regression: a number of 400 digits, and a list as a key, were internal errors."""
    data = lines(changed(SCHEMA_GUIDED, place, value))
    with pytest.raises(FormFileError, match=f"^x.jsonl: line 1: {reported}$"):
        list(form_files.read_rows(GUIDED_TABLE, "x.jsonl", data))


NESTED = b"[" * 100_000


@pytest.mark.parametrize(
    "features",
    [
        features_of(5, "sequence"),
        features_of([], "sequence"),
        features_of([5, None], "lists"),
        features_of({"0": "USER"}, "lists"),
        {"turns": 3},
        [[[]]],
        b"\xff",
        b"{",
        b"[]",
        b'{"info": 5}',
        NESTED,
    ],
    ids=str,
)
def test_uninformative_features_are_ignored(features: Any) -> None:
    data = with_features([SCHEMA_GUIDED], features)
    assert list(form_files.read_rows(GUIDED_TABLE, "x.parquet", data)) == [SCHEMA_GUIDED]


@pytest.mark.parametrize(
    "noted", [b"\xff", b"{", b"5", b'{"index_columns": 5}', b'{"index_columns": [{"kind": "range"}, 5, ["a"]]}', NESTED]
)
def test_uninformative_metadata_of_pandas_are_ignored(noted: bytes) -> None:
    schema = FRIENDS_TABLE.columns.with_metadata({"pandas": noted})
    data = written(pa.Table.from_pylist([FRIENDS], schema=schema))
    assert list(form_files.read_rows(FRIENDS_TABLE, "x.parquet", data)) == [FRIENDS]


@pytest.mark.parametrize("name", ["x.parquet", "x.jsonl"])
@pytest.mark.parametrize("place", ["turns/0", "turns/1/frames/0"])
def test_null_among_the_objects_of_a_list_refuses_its_row_alone(name: str, place: str) -> None:
    """Regression: it refused the whole file."""
    (row,) = turned(pa.Table.from_pylist([SCHEMA_GUIDED], schema=GUIDED_TABLE.columns))
    rows = [row, changed(row, place, None), row]
    data = written(pa.Table.from_pylist(rows)) if name.endswith(".parquet") else lines(*rows)
    found = list(form_files.undo_rows(GUIDED_TABLE, name, data))
    assert [refused and refused.partition(" at /turns/")[0] for _, _, refused in found] == [None, "null", None]
    assert found[0][0] == found[2][0]
    stream = io.BytesIO()
    form_files.write_rows(GUIDED_TABLE, name, (again for _, again, _ in found), stream)
    assert list(form_files.undo_rows(GUIDED_TABLE, name, stream.getvalue())) == found
