"""A copy of what was published, a file or Parquet tables, can be damaged: every reader names the file."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import duckdb
import pytest

import dialogue_warehouse as dw
from dialogue_warehouse.cli.main import main
from dialogue_warehouse.paths import tables_beside
from dialogue_warehouse.settings import Settings
from pipelines.building import parquet_tables
from tests.unit.published import BUILD
from tests.unit.reading.test_damage import BLOCK, HEADERS

TEXTS = "select md5(string_agg(utterance)) from core.fct_turns"
DAMAGE = r"is damaged \(.*\); replace it with a copy that is whole"


def can_be_opened_but_not_read(file: Path) -> bool:
    try:
        con = duckdb.connect(file, read_only=True)
    except duckdb.Error:
        return False
    with con:
        try:
            con.execute(TEXTS)
        except duckdb.Error:
            return True
    return False


@pytest.fixture
def damaged_file(sample_warehouse: Path, tmp_path: Path) -> Path:
    """Return a copy of the published file in which a block of the utterances is damaged."""
    file, whole = tmp_path / "copy.duckdb", sample_warehouse.read_bytes()
    for place in range(HEADERS + 1000, len(whole), BLOCK):
        file.write_bytes(whole[:place] + bytes([whole[place] ^ 0xFF]) + whole[place + 1 :])
        if can_be_opened_but_not_read(file):
            return file
    raise AssertionError("no block has utterances only")


@pytest.fixture
def copied_tables(sample_warehouse: Path, tmp_path: Path) -> Path:
    """Return the published tables as Parquet."""
    parquet_tables.write_tables(sample_warehouse, tmp_path / "tables", Settings())
    return tmp_path / "tables"


def refuse_to_read(place: Path, file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Check that a command, a method and an iteration name the damaged file of a place."""
    assert main(["search", "hello", "--warehouse", str(place)]) == 2
    assert re.fullmatch(rf"error: {re.escape(str(file))}: {DAMAGE}\n", capsys.readouterr().err)
    reads: list[Callable[[dw.Warehouse], object]] = [
        lambda warehouse: warehouse.search("hello"),
        lambda warehouse: list(warehouse.dialogues()),
        lambda warehouse: list(warehouse.dialogues().examples()),
    ]
    for read in reads:
        with dw.open(place) as warehouse, pytest.raises(dw.InputError, match=rf"^{re.escape(str(file))}: {DAMAGE}$"):
            read(warehouse)


def test_damaged_block_is_named(damaged_file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Regression: commands ended in an internal error, and Python raised DuckDB's error, which names no file."""
    refuse_to_read(damaged_file, damaged_file, capsys)


def test_damaged_parquet_is_named(copied_tables: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Regression: the error named the file by an internal URL, or no file. Then the folder is named."""
    file = next(copied_tables.glob("core/fct_turns/corpus_id=abcd/*.parquet"))
    whole = file.read_bytes()
    middle = len(whole) // 2
    for named, data in (
        (file, whole[:middle] + bytes([whole[middle] ^ 0xFF]) + whole[middle + 1 :]),
        (copied_tables, whole[:4] + bytes(middle - 4) + whole[middle:]),
    ):
        file.write_bytes(data)
        refuse_to_read(copied_tables, named, capsys)


def test_damaged_parquet_beside_its_database_is_named(
    sample_warehouse: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    database = tmp_path / f"{BUILD}.duckdb"
    parquet_tables.write(sample_warehouse, database, Settings())
    file = next(tables_beside(database).glob("core/fct_turns/corpus_id=abcd/*.parquet"))
    whole = file.read_bytes()
    middle = len(whole) // 2
    file.write_bytes(whole[:middle] + bytes([whole[middle] ^ 0xFF]) + whole[middle + 1 :])
    refuse_to_read(database, file, capsys)


def test_truncated_parquet_is_named_when_it_is_opened(copied_tables: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Regression: it was an internal error."""
    file = next(copied_tables.glob("core/fct_turns/corpus_id=abcd/*.parquet"))
    file.write_bytes(file.read_bytes()[:500])
    assert main(["tables", "--warehouse", str(copied_tables)]) == 2
    assert re.fullmatch(rf"error: {re.escape(str(file))}: {DAMAGE}\n", capsys.readouterr().err)
    with pytest.raises(dw.InputError, match=rf"^{re.escape(str(file))}: {DAMAGE}$"):
        dw.open(copied_tables)


def test_query_that_fails_by_itself_is_not_called_damage(
    damaged_file: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for query in ("select error('Corrupt')", "select cast('x' as int)"):
        assert main(["sql", query, "--warehouse", str(damaged_file)]) == 2
        assert "damaged" not in capsys.readouterr().err


def test_tables_without_their_database_have_its_descriptions(copied_tables: Path, sample_warehouse: Path) -> None:
    """Regression: they had the descriptions of tables, and none of a column. A column of another version is unknown."""

    def described(place: Path) -> dict[str, tuple]:
        with dw.open(place) as warehouse:
            tables = [warehouse.describe(f"{one.schema}.{one.table}") for one in warehouse.tables()]
        return {
            f"{one.schema}.{one.table}": (one.comment, {each.column: each.comment for each in one.columns})
            for one in tables
        }

    for file in copied_tables.glob("core/dim_corpora/**/*.parquet"):
        with duckdb.connect() as con:
            con.execute(f"create table read as select *, 1 as weather from '{file}'")
            con.execute(f"copy read to '{file}' (format parquet)")
    whole, found = described(sample_warehouse), described(copied_tables)
    comment, columns = found.pop("core.dim_corpora")
    assert comment == whole["core.dim_corpora"][0]
    assert set(columns.values()) == {None}
    assert found == {table: whole[table] for table in found}
    assert len(found) > 20
