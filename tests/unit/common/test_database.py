"""Every connection to DuckDB has the limits of the settings: one function opens it."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import duckdb
import pytest

from dialogue_warehouse.common.database import QueryError, connect, hashed, one_line
from dialogue_warehouse.paths import CLONE
from dialogue_warehouse.settings import Settings

PYTHON = [
    path for folder in ("dialogue_warehouse", "pipelines", "expectations") for path in (CLONE / folder).rglob("*.py")
]
OPENED = {
    "dialogue_warehouse/common/database.py: duckdb.connect": "`connect`, which everything else calls",
    "pipelines/building/dbt.py: dbtRunner": "dbt opens the database of the models; its profile has the same limits",
    "expectations/validation.py: add_sql": "Great Expectations opens what it validates; a request has the same limits",
}
"""Calls that open a DuckDB database, each with its reason."""
OPENING = {"dbtRunner", "add_sql", "create_engine"}
"""Functions of other libraries that open a database."""
NOT_OPENING = {"duckdb.tokenize", "duckdb.sqltypes"}


def openings(text: str) -> set[str]:
    """The calls that open a database, or use the one that the module `duckdb` keeps, which has no limits."""
    tree = ast.parse(text)
    found = {
        f"duckdb.{alias.name}"
        for node in ast.walk(tree)
        if isinstance(node, ast.ImportFrom) and node.module == "duckdb"
        for alias in node.names
        if alias.name.islower()
    }
    for node in ast.walk(tree):
        if isinstance(node, ast.Call):
            called = ast.unparse(node.func)
            if re.fullmatch(r"duckdb\.[a-z_]+", called):
                found.add(called)
            elif called.rpartition(".")[2] in OPENING:
                found.add(called.rpartition(".")[2])
    return found - NOT_OPENING


def test_every_connection_has_the_limits_of_the_settings() -> None:
    """Queries of a build took whatever memory there was: `DIALOGUE_MEMORY_LIMIT` holds for all of them."""
    found = {f"{path.relative_to(CLONE).as_posix()}: {code}" for path in PYTHON for code in openings(path.read_text())}
    assert found == OPENED.keys()
    assert all(OPENED.values())


@pytest.mark.parametrize(
    ("text", "opened"),
    [
        ("import duckdb\nduckdb.connect()", {"duckdb.connect"}),
        ("import duckdb\nduckdb.sql('select 1')", {"duckdb.sql"}),
        ("from duckdb import connect", {"duckdb.connect"}),
        ("engine = sqlalchemy.create_engine('duckdb://')", {"create_engine"}),
        ("con = connect(settings)\nduckdb.tokenize(text)\nraise duckdb.Error(text)\nfrom duckdb import Error", set()),
    ],
)
def test_connection_without_limits_is_found(text: str, opened: set[str]) -> None:
    assert openings(text) == opened


def test_no_test_executes_on_the_connection_that_all_tests_of_a_process_share() -> None:
    """An unread row of `duckdb.execute` makes every later `duckdb.sql` of the process fail, in another test."""
    found = [path.name for path in (CLONE / "tests").rglob("*.py") if "duckdb.execute" in openings(path.read_text())]
    assert found == []


def test_connection_has_the_limits_of_the_settings_and_spills_to_its_own_folder(tmp_path: Path) -> None:
    """Data in memory was once spilled to the working folder; a second connection may not share the folder."""
    settings = Settings(memory_limit="1GiB", threads=1)
    asked = "select current_setting('memory_limit'), current_setting('threads'), current_setting('temp_directory')"
    spills = set()
    for _ in range(2):
        with connect(settings, max_vacuum_tasks=0) as con:
            assert con.execute("select current_setting('max_vacuum_tasks')").fetchall() == [(0,)]
            ((*limits, spill),) = con.execute(asked).fetchall()
            spills.add(spill)
            assert limits == ["1.0 GiB", 1]
    assert len(spills) == 2
    assert Path.cwd() not in map(Path, spills)
    with connect(settings, tmp_path / "x.duckdb") as con:
        assert con.execute(asked).fetchall() == [("1.0 GiB", 1, str(tmp_path / "x.duckdb.tmp"))]


@pytest.mark.parametrize("wrong", [{"memory_limit": "a lot"}, {"threads": 0}])
def test_limits_that_duckdb_refuses_name_the_settings(wrong: dict) -> None:
    with pytest.raises(QueryError, match=r"^DIALOGUE_MEMORY_LIMIT or DIALOGUE_THREADS: [^\n]+$"):
        connect(Settings(**wrong))


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("[]::varchar[] as a, 'b' as b", "null::varchar[] as a, 'b' as b"),
        ("['a', 'b'] as a, ['c'] as b", "['a'] as a, ['b', 'c'] as b"),
        ("map {}::map(varchar, varchar) as a", "null::map(varchar, varchar) as a"),
        ("[null]::varchar[] as a", "[]::varchar[] as a"),
    ],
)
def test_hash_distinguishes_lists(one: str, other: str) -> None:
    """Regression: a build reused tables of other lists, and `diff` did not find them."""
    with duckdb.connect() as con:
        columns = dict(con.execute(f"select column_name, column_type from (describe select {one})").fetchall())
        (found,) = con.execute(
            f"select count(distinct hash({hashed(columns)})) from (select {one} union all select {other})"
        ).fetchall()
    assert found == (2,)


@pytest.mark.parametrize(
    ("raised", "line"), [("OSError: x.parquet is cut off", "x.parquet is cut off"), ("MemoryError",) * 2]
)
def test_error_of_the_file_system_of_this_project_is_its_last_line(raised: str, line: str) -> None:
    """Regression: an exception without a message was an IndexError."""
    traceback = 'Traceback (most recent call last):\n  File "parquet_files.py", line 1, in read\n'
    assert one_line(Exception(f"{traceback}{raised}\n")) == line
