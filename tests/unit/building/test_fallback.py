"""The query that failed finds the corpus and the dialogue that caused it; failures that stop a build."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import duckdb
import pytest
from msgspec import structs

from dialogue_warehouse.common.progress import Reporter
from dialogue_warehouse.errors import CheckError
from dialogue_warehouse.paths import WarehousePaths
from dialogue_warehouse.settings import Settings
from dialogue_warehouse.storage import builds
from dialogue_warehouse.storage.landed import Cause, Fallback, Landed
from pipelines.building import fallback, state
from tests.unit.published import BUILD, make_build

QUERY = "select corpus_id, dialogue_key, cast(said as integer) as number from main.said"
CONVERSION = "Conversion Error: Could not convert string 'seven' to INT32"


@pytest.fixture
def con() -> Iterator[duckdb.DuckDBPyConnection]:
    with duckdb.connect() as con:
        con.execute("create schema core")
        con.execute(
            "create table core.dim_dialogues as "
            "from (values ('sgd/dev/3', 'sgd/dev/dialogues_001.json', 3)) as one (dialogue_key, source_file_id, record_index)"
        )
        con.execute("create table said (corpus_id varchar, dialogue_key varchar, said varchar)")
        rows = [("sgd", f"sgd/dev/{number}", str(number)) for number in range(6)]
        con.executemany("insert into said values (?, ?, ?)", [*rows, ("abcd", "abcd/train/1", "1")])
        yield con


def select_from(con: duckdb.DuckDBPyConnection) -> fallback.Select:
    def select(query: str, most: int) -> tuple[list[str], list[tuple[Any, ...]]]:
        rows = con.execute(query)
        return [column[0] for column in rows.description], rows.fetchmany(most)

    return select


def test_row_that_is_null_names_its_corpus_file_and_record(con: duckdb.DuckDBPyConnection) -> None:
    """For example the length of a MutualFriends message without text.

    Regression: the error had neither file nor corpus.
    """
    con.execute("update said set said = null where dialogue_key = 'sgd/dev/3'")
    message = "Constraint Error: NOT NULL constraint failed: numbers.number"
    place, about = fallback.locate(QUERY, message, ("marts", "core"), select_from(con))
    assert place == ", the first: corpus_id=sgd, dialogue_key=sgd/dev/3 (sgd/dev/dialogues_001.json, record 3)"
    assert about == {"sgd"}


@pytest.mark.parametrize("folders", [("marts", "core"), ("intermediate", "sgd")])
def test_value_that_cannot_be_converted_is_found_by_bisection(
    con: duckdb.DuckDBPyConnection, folders: tuple[str, ...]
) -> None:
    con.execute("update said set said = 'seven' where dialogue_key = 'sgd/dev/3'")
    place, about = fallback.locate(QUERY, CONVERSION, folders, select_from(con))
    assert (place, about) == (", of sgd/dev/3 (sgd/dev/dialogues_001.json, record 3)", {"sgd"})


def test_rows_of_two_corpora_name_no_single_dialogue(con: duckdb.DuckDBPyConnection) -> None:
    con.execute("update said set said = 'seven' where dialogue_key in ('sgd/dev/3', 'abcd/train/1')")
    assert fallback.locate(QUERY, CONVERSION, ("marts",), select_from(con)) == ("", {"sgd", "abcd"})


def test_query_that_fails_for_no_row_names_nothing(con: duckdb.DuckDBPyConnection) -> None:
    broken = f"{QUERY} where error('no file') is null"
    assert fallback.locate(broken, "no file", ("marts",), select_from(con)) == ("", set())
    assert fallback.locate("", "skipped", ("marts",), select_from(con)) == ("", set())


def test_rows_name_their_corpus_by_key_file_or_column() -> None:
    rows = [("unknown word", "abcd/train/4711", 1), ("sgd, dialogue, train", None), ("bbai",)]
    assert fallback.of_rows(rows) == {"abcd", "sgd", "bbai"}
    assert fallback.of_rows([*rows, ("unknown word", "abcdef/1", 1)]) == set()
    assert fallback.of_rows([]) == set()
    assert fallback.named(("staging", "mutualfriends", "friends")) == {"mutualfriends"}


def test_failure_without_a_corpus_blames_no_corpus() -> None:
    first, second, other = ("one", {"sgd", "abcd"}), ("two", {"abcd"}), ("three", set())
    assert fallback.at_fault([first, second]) == {"abcd": "one", "sgd": "one"}
    assert fallback.at_fault([first, other]) == {}
    assert fallback.at_fault([]) == {}


def test_failure_is_raised_if_no_other_corpus_is_left_or_none_can_fall_back(tmp_path: Path) -> None:
    """A run that is about the corpus at fault, a corpus that has fallen back already, one that is not published."""
    build = state.Build("20260101T000000000000Z", "run", datetime.now(UTC), "source", ("abcd", "sgd"))
    settings, paths = Settings(warehouse=tmp_path, keep_going=True), WarehousePaths(tmp_path)
    failed = CheckError("test sound_fct_turns: 1 row fails", at_fault={"abcd": "test sound_fct_turns"})
    fallen_back = replace(build, fallbacks={"abcd": Fallback("20250101T000000000000Z", Cause.DAMAGED, "cut off")})
    for of, to in (
        (build, replace(settings, keep_going=False)),
        (build, replace(settings, refresh=("abcd",))),
        (replace(build, corpora=("abcd",)), settings),
        (fallen_back, settings),
    ):
        with pytest.raises(CheckError) as raised:
            fallback.fall_back_after(failed, of, to, paths, Reporter(quiet=True))
        assert raised.value is failed
    with pytest.raises(CheckError, match=r"row fails; abcd: cannot fall back, because nothing is published$"):
        fallback.fall_back_after(failed, build, settings, paths, Reporter(quiet=True))


def test_failure_without_a_corpus_is_that_of_the_only_corpus_that_has_changed(tmp_path: Path) -> None:
    """The corpus is tried with its published files, which this build lacks. If two have changed, none is tried."""
    paths, settings = WarehousePaths(tmp_path), Settings(warehouse=tmp_path, keep_going=True)
    published = {
        name: Landed(name, "dialogues", "a.json", None, None, 2, "0" * 64, "verified", 1, f"{name}/dialogues/a.parquet")
        for name in ("abcd", "bbai", "sgd")
    }
    make_build(paths)
    manifest = structs.replace(builds.read_manifest(paths, BUILD), files=tuple(published.values()))
    paths.build_manifest(BUILD).write_bytes(builds.encode_manifest(manifest))
    failed = CheckError("Conversion Error")
    build = state.Build("20260101T000000000000Z", "run", datetime.now(UTC), "source", tuple(published))
    for changed, at_fault in (((), False), (("abcd",), True), (("sgd",), True), (("abcd", "sgd"), False)):
        now = (replace(file, sha256="1" * 64) if name in changed else file for name, file in published.items())
        with pytest.raises(CheckError) as raised:
            fallback.fall_back_after(failed, replace(build, landed=tuple(now)), settings, paths, Reporter(quiet=True))
        assert (f"{changed[0]}/a.json: cannot fall back" in str(raised.value)) if at_fault else (raised.value is failed)


def test_every_corpus_that_cannot_fall_back_is_named(tmp_path: Path) -> None:
    build = state.Build("20260101T000000000000Z", "run", datetime.now(UTC), "source", ("abcd", "bbai", "sgd"))
    failed = CheckError("2 rows fail", at_fault={"abcd": "test a", "sgd": "test b"})
    with pytest.raises(CheckError) as raised:
        fallback.fall_back_after(
            failed,
            build,
            Settings(warehouse=tmp_path, keep_going=True),
            WarehousePaths(tmp_path),
            Reporter(quiet=True),
        )
    reason = "cannot fall back, because nothing is published"
    assert str(raised.value) == f"2 rows fail; abcd: {reason}; sgd: {reason}"
