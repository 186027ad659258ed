"""Canaries: Great Expectations reads DuckDB through our dialect, rightly, whole and without keeping the file.

Everything that imports Great Expectations runs in one worker process; what comes back is plain data.
"""

from __future__ import annotations

import multiprocessing
import os
import sys
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import Any

import duckdb
import pytest

from dialogue_warehouse.corpora.suites import UNEXPECTED_ROWS, Expectation, Suite

Run = Callable[..., Any]


@pytest.fixture(scope="module")
def in_worker() -> Iterator[Run]:
    """Call a function of this module in the process that has Great Expectations."""
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(1, mp_context=context, initializer=_prepare) as pool:
        yield lambda function, *arguments: pool.submit(_call, function, *arguments).result(timeout=120)


@pytest.fixture
def database(tmp_path: Path) -> Path:
    """Ten turns in a schema that is not the default one, three of them by an unknown speaker."""
    path = tmp_path / "small.duckdb"
    with duckdb.connect(str(path)) as connection:
        connection.execute("create schema core")
        connection.execute(
            """
            create table core.fct_turns as
            select
                'x/' || n as turn_key,
                case when n < 7 then 'user' else 'narrator' end as role,
                cast(n as integer) as turn_index,
                ['a', 'b'] as labels,
                map {'a': 'b'} as entity,
                cast(null as timestamp) as occurred_at
            from range(10) as numbers (n)
            """
        )
        connection.execute("create view core.all_turns as from core.fct_turns")
    return path


def expect(identifier: str, kind: str, table: str = "core.fct_turns", **kwargs: Any) -> Expectation:
    """An expectation, with what does not matter here filled in."""
    return Expectation(identifier, None, table, kind, kwargs, "critical", "It holds.", "It must.")


CANARY = Suite(
    "canary",
    (
        expect("query", UNEXPECTED_ROWS, query="select * from core.fct_turns where role = 'narrator'"),
        expect("known_role", "expect_column_values_to_be_in_set", column="role", value_set=["user"]),
        expect("some_time", "expect_column_values_to_not_be_null", column="occurred_at"),
        expect("view", "expect_column_values_to_be_in_set", "core.all_turns", column="role", value_set=["user"]),
        expect("list", "expect_column_values_to_not_be_null", column="labels"),
        expect("count", "expect_table_row_count_to_equal", value={"$PARAMETER": "count"}),
        expect("key", "expect_column_values_to_be_unique", column="turn_key"),
    ),
)


def test_values_are_counted_in_a_table_of_another_schema(in_worker: Run, database: Path) -> None:
    assert in_worker(_validate, database, CANARY) == {
        "query": (False, '{"unexpected": 3}'),
        "known_role": (False, '{"unexpected": 3, "of": 10}'),
        "some_time": (False, '{"unexpected": 10, "of": 10}'),
        "view": (False, '{"unexpected": 3, "of": 10}'),
        "list": (True, '{"unexpected": 0, "of": 10}'),
        "count": (True, '{"value": 10}'),
        "key": (True, '{"unexpected": 0, "of": 10}'),
    }


def test_file_can_be_written_in_the_same_process_afterwards(in_worker: Run, database: Path) -> None:
    assert in_worker(_validate_then_write, database) == 11


def test_file_can_be_written_after_a_validation_that_broke(in_worker: Run, database: Path) -> None:
    absent = Suite("absent", (expect("a", "expect_column_values_to_not_be_null", "core.absent", column="role"),))
    message, count = in_worker(_error_then_write, database, absent)
    assert message.startswith("core.absent: absent/a cannot be validated: ")
    assert count == 11


def test_file_is_opened_for_reading_only(in_worker: Run, database: Path) -> None:
    with duckdb.connect(str(database), read_only=True):
        assert len(in_worker(_validate, database, CANARY)) == len(CANARY.expectations)


def test_plain_sql_needs_no_escapes(in_worker: Run, database: Path) -> None:
    query = """
        select turn_key
        from core.fct_turns
        where turn_key like 'x/%' and regexp_matches(turn_key, '^x/[0-9]{1}$') and {'a': turn_index}.a::varchar <> ':x'
    """
    suite = Suite("sql", (expect("sql", UNEXPECTED_ROWS, query=query),))
    assert in_worker(_validate, database, suite) == {"sql": (False, '{"unexpected": 10}')}


def test_colons_and_backslashes_reach_the_query_as_they_are_written(in_worker: Run, database: Path) -> None:
    """Regression: SQLAlchemy kept the backslash in front of `:smile:`, and removed that of a regular expression."""
    texts = (":smile:", " :b:c", "x :y", r"\:y", r"\: ", r"\\:y:", "12:30")
    written = ", ".join(f"('{text}', {len(text)})" for text in texts)
    query = f"select text from core.fct_turns, (values {written}) as texts (text, size) where length(text) <> size"
    suite = Suite("sql", (expect("sql", UNEXPECTED_ROWS, query=query),))
    assert in_worker(_validate, database, suite) == {"sql": (True, '{"unexpected": 0}')}


def test_columns_are_reflected_from_duckdb(in_worker: Run, database: Path) -> None:
    assert in_worker(_reflect, database, "fct_turns", "core") == {
        "turn_key": "VARCHAR",
        "role": "VARCHAR",
        "turn_index": "INTEGER",
        "labels": "NULL",
        "entity": "NULL",
        "occurred_at": "TIMESTAMP",
    }


def test_absent_table_is_reported_by_its_name(in_worker: Run, database: Path) -> None:
    assert in_worker(_reflect, database, "absent", "core") == "NoSuchTableError: core.absent"


def test_unknown_type_is_an_error(in_worker: Run, database: Path) -> None:
    suite = Suite("typo", (expect("a", "expect_colum_values_to_not_be_null", column="role"),))
    assert (
        in_worker(_error_of, database, suite) == "typo/a: cannot be built: expect_colum_values_to_not_be_null not found"
    )


def test_unknown_argument_is_an_error(in_worker: Run, database: Path) -> None:
    suite = Suite("typo", (expect("a", "expect_column_values_to_not_be_null", colum="role"),))
    assert in_worker(_error_of, database, suite).startswith("typo/a: cannot be built: ")


def test_empty_suite_is_an_error(in_worker: Run, database: Path) -> None:
    assert in_worker(_error_of, database, Suite("nothing", ())) == "suite 'nothing' has no expectation"


def test_repeated_expectation_is_an_error(in_worker: Run, database: Path) -> None:
    suite = Suite("twice", (CANARY.expectations[0], CANARY.expectations[0]))
    assert in_worker(_error_of, database, suite) == "twice/query: is declared twice"


@pytest.mark.parametrize(
    ("trick", "message"),
    [
        ("drop when building", "canary/query: was built 0 times; 6 declared, 5 built"),
        ("drop a result", "canary/query: was evaluated 0 times; 6 declared, 5 evaluated"),
        ("repeat a result", "canary/query: was evaluated 2 times; 6 declared, 7 evaluated"),
    ],
)
def test_result_that_is_lost_or_repeated_is_an_error(in_worker: Run, database: Path, trick: str, message: str) -> None:
    assert in_worker(_error_under, trick, database) == message


def test_results_are_matched_by_key_in_any_order(in_worker: Run, database: Path) -> None:
    assert in_worker(_validate_under, "reverse", database) == in_worker(_validate, database, CANARY)


def test_two_processes_find_what_one_finds(in_worker: Run, database: Path) -> None:
    alone = in_worker(_validate, database, CANARY)
    shared = in_worker(_validate, database, CANARY, 2)
    assert list(shared.items()) == list(alone.items())


def test_error_of_one_process_is_the_error_of_all(in_worker: Run, database: Path) -> None:
    broken = expect("broken", "expect_column_values_to_not_be_null", "core.absent", column="role")
    message = in_worker(_error_of, database, Suite("canary", (*CANARY.expectations, broken)), 2)
    assert message.startswith("core.absent: canary/broken cannot be validated: ")


# --- in the worker --------------------------------------------------------------------------------------------------


def _prepare() -> None:
    """Prepare the worker: pyspark, which Great Expectations imports, ends a process whose main module has no file."""
    sys.modules["__main__"].__file__ = __file__
    os.dup2(os.open(os.devnull, os.O_WRONLY), 2)  # DuckDB's binding complains of leaks when the worker ends


def _call(function: Run, *arguments: Any) -> Any:
    """An error must not carry the worker's classes: they would import Great Expectations where they arrive."""
    try:
        return function(*arguments)
    except Exception as error:
        raise RuntimeError(f"{type(error).__name__}: {error}") from None


def _validate(database: Path, suite: Suite, processes: int = 1) -> dict[str, tuple[bool, str]]:
    from expectations import validation

    outcomes = validation.validate(database, [suite], {"count": 10}, {"threads": 1}, processes)
    return {outcome.expectation.expectation_id: (outcome.success, outcome.observed) for outcome in outcomes}


def _write(database: Path) -> int:
    with duckdb.connect(str(database)) as connection:
        connection.execute("insert into core.fct_turns (turn_key) values ('x/10')")
        (count,) = connection.execute("select count(*) from core.fct_turns").fetchone() or (0,)
    return count


def _validate_then_write(database: Path) -> int:
    _validate(database, CANARY)
    return _write(database)


def _error_then_write(database: Path, suite: Suite) -> tuple[str, int]:
    return _error_of(database, suite), _write(database)


def _error_of(database: Path, suite: Suite, processes: int = 1) -> str:
    from expectations import validation

    try:
        _validate(database, suite, processes)
    except validation.ValidationError as error:
        return str(error)
    return "no error"


def _reflect(database: Path, table: str, schema: str) -> dict[str, str] | str:
    import sqlalchemy
    from sqlalchemy.exc import NoSuchTableError

    from expectations import dialect

    engine = sqlalchemy.create_engine(dialect.connection_string(database), connect_args={"read_only": True})
    try:
        columns = sqlalchemy.inspect(engine).get_columns(table, schema)
    except NoSuchTableError as error:
        return f"NoSuchTableError: {error}"
    finally:
        engine.dispose()
    return {column["name"]: str(column["type"]) for column in columns}


def _error_under(trick: str, database: Path) -> str:
    from expectations import validation

    try:
        _validate_under(trick, database)
    except validation.ValidationError as error:
        return str(error)
    return "no error"


def _validate_under(trick: str, database: Path) -> dict[str, tuple[bool, str]]:
    """Validate while Great Expectations misbehaves."""
    from great_expectations.core import ExpectationSuite
    from great_expectations.datasource.fluent.interfaces import Batch

    from expectations import validation

    genuine = Batch.validate

    def build(name: str, expectations: list[Any]) -> ExpectationSuite:
        return ExpectationSuite(name=name, expectations=expectations[1:])

    def validate(batch: Any, suite: Any, **options: Any) -> Any:
        result = genuine(batch, suite, **options)
        keys = [entry.expectation_config.meta["key"] for entry in result.results]
        if trick == "drop a result":
            del result.results[keys.index("canary/query")]
        elif trick == "repeat a result":
            result.results.append(result.results[keys.index("canary/query")])
        elif trick == "reverse":
            result.results.reverse()
        return result

    with pytest.MonkeyPatch.context() as patch:
        if trick == "drop when building":
            patch.setattr(validation, "ExpectationSuite", build)
        patch.setattr(Batch, "validate", validate)
        only_turns = tuple(entry for entry in CANARY.expectations if entry.table == "core.fct_turns")
        return _validate(database, CANARY if trick == "reverse" else Suite("canary", only_turns))
