"""Files are written whole or not at all."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pytest
from pyarrow import parquet as pq

from dialogue_warehouse.common.files import replacing, write_atomically, write_table


def files(folder: Path) -> list[str]:
    return sorted(path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file())


def test_file_appears_in_a_folder_that_was_not_there(tmp_path: Path) -> None:
    write_atomically(tmp_path / "a" / "b", b"new")
    assert (tmp_path / "a" / "b").read_bytes() == b"new"
    assert files(tmp_path) == ["a/b"]


def test_reader_sees_the_old_file_until_the_new_one_is_whole(tmp_path: Path) -> None:
    place = tmp_path / "file"
    place.write_bytes(b"old")
    with replacing(place) as temporary:
        temporary.write_bytes(b"new")
        assert place.read_bytes() == b"old"
    assert place.read_bytes() == b"new"


def test_failure_leaves_what_was_there_and_nothing_beside_it(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"old")
    with pytest.raises(RuntimeError), replacing(tmp_path / "file") as temporary:
        temporary.write_bytes(b"ne")
        raise RuntimeError
    assert (tmp_path / "file").read_bytes() == b"old"
    assert files(tmp_path) == ["file"]


def test_no_attempt_writes_to_the_place_of_an_earlier_one(tmp_path: Path) -> None:
    """What DuckDB still does to the file of a COPY that failed must not meet the file of the next one."""
    places = []
    for _ in range(2):
        with pytest.raises(RuntimeError), replacing(tmp_path / "file") as temporary:
            places.append(temporary)
            raise RuntimeError
    assert len(set(places)) == 2


def test_table_has_the_columns_of_its_schema_and_no_others(tmp_path: Path) -> None:
    columns = {"name": "varchar", "count": "integer", "at": "timestamp", "words": "varchar[]"}
    rows = [{"count": 1, "more": 2, "name": "a", "at": None, "words": ["b", None]}]
    write_table(tmp_path / "table.parquet", columns, rows)
    table = pq.read_table(tmp_path / "table.parquet")
    assert table.schema.equals(
        pa.schema(
            [
                ("name", pa.string()),
                ("count", pa.int32()),
                ("at", pa.timestamp("us")),
                ("words", pa.list_(pa.string())),
            ]
        )
    )
    assert table.to_pylist() == [{"name": "a", "count": 1, "at": None, "words": ["b", None]}]


def test_row_that_lacks_a_column_is_refused(tmp_path: Path) -> None:
    with pytest.raises(KeyError, match="count"):
        write_table(tmp_path / "table.parquet", {"name": "varchar", "count": "integer"}, [{"name": "a"}])
    assert files(tmp_path) == []
