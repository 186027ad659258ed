"""Run suites with Great Expectations against a DuckDB file, read-only, in several processes.

This is the only module that uses Great Expectations; importing it takes five seconds, so `expectations.audit` does so
in a separate process. It guards against these faults, each seen with 1.24: an unknown expectation type is dropped with
a log line and the suite passes; a suite that is built one configuration at a time loses expectations of equal domain;
results come in another order than the expectations; a query expectation runs its query twice and fetches the rows.

Great Expectations imports pyspark where that is installed (1.4 CPU seconds more). pyspark 4.3 then ends a process whose
main module is neither a module nor a file, such as `python -c`: import this from `python -m`.
"""

from __future__ import annotations

import json
import logging
import re
import warnings
from collections import Counter
from collections.abc import Generator, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, ClassVar

import great_expectations
from great_expectations.core import ExpectationSuite
from great_expectations.data_context.types.base import ProgressBarsConfig
from great_expectations.expectations.expectation import BatchExpectation
from great_expectations.expectations.expectation_configuration import ExpectationConfiguration
from great_expectations.expectations.metadata_types import FailureSeverity

from dialogue_warehouse.common.processes import can_fork, in_turn
from dialogue_warehouse.corpora.claims import Rows, Severity, exceeds, same_rows
from dialogue_warehouse.corpora.suites import QUERY_ROWS, UNEXPECTED_ROWS, Expectation, Suite
from dialogue_warehouse.errors import in_one_line
from expectations import dialect
from expectations.verdicts import describe_rows, plain

MESSAGE_LENGTH = 300
"""Largest number of characters kept of an error message of Great Expectations or DuckDB."""

RESULT_FORMAT = {"result_format": "BASIC", "partial_unexpected_count": 0}
"""Counts, and no sample of unexpected values."""


class ValidationError(RuntimeError):
    """The suites could not be run as declared; one line."""


@dataclass(frozen=True)
class Outcome:
    """The result of one expectation."""

    suite: str
    expectation: Expectation
    success: bool
    observed: str
    """Short JSON with the figures, or the error's message."""
    severity: Severity
    """As declared, but critical for an expectation that raised an error."""
    rows: Rows | None = None
    """The rows that the query of an expectation about rows returned."""


Declared = tuple[str, Expectation]
"""An expectation with the name of its suite."""
Group = dict[str, Declared]
"""The expectations of one table, by their keys."""


class ExpectNoUnexpectedRows(BatchExpectation):
    """Expect that a query for unexpected rows returns none. Counts the rows; never fetches them."""

    query: str

    metric_dependencies: ClassVar[tuple[str, ...]] = ("query.row_count",)
    success_keys: ClassVar[tuple[str, ...]] = ("query",)

    def _validate(self, metrics: dict[str, Any], *_: Any, **__: Any) -> dict[str, Any]:
        count = metrics["query.row_count"]
        return {"success": count == 0, "result": {"unexpected_count": count}}


class ExpectQueryRows(BatchExpectation):
    """Expect that a query returns exactly these rows, in this order; its columns have different names.

    With `at_most`, it may also return fewer of them and smaller numbers.
    """

    query: str
    rows: list[list[Any]]
    at_most: bool = False
    fetch_all: bool = True

    metric_dependencies: ClassVar[tuple[str, ...]] = ("query.table",)
    success_keys: ClassVar[tuple[str, ...]] = ("query", "rows", "at_most", "fetch_all")

    def _validate(self, metrics: dict[str, Any], *_: Any, **__: Any) -> dict[str, Any]:
        observed = [[plain(value) for value in row.values()] for row in metrics["query.table"]]
        success = not exceeds(observed, self.rows) if self.at_most else same_rows(observed, self.rows)
        return {"success": success, "result": {"observed_value": observed}}


assert ExpectNoUnexpectedRows.expectation_type == UNEXPECTED_ROWS
assert ExpectQueryRows.expectation_type == QUERY_ROWS


def validate(
    database: Path,
    suites: Iterable[Suite],
    parameters: Mapping[str, Any],
    config: Mapping[str, Any],
    processes: int = 1,
) -> list[Outcome]:
    """Run the suites; the outcomes have the order of the declarations.

    `parameters` fills `{"$PARAMETER": name}` in arguments, `config` is DuckDB's. The file is closed afterwards, also
    after an error. Further processes are forked, so that each has Great Expectations at once; a process with threads
    validates alone, because a fork copies the locks of threads without the threads. Raises ValidationError when an
    expectation cannot be built or has no result.
    """
    declared = _declared(suites)
    run = partial(_validate_tables, database, parameters, config)
    outcomes = in_turn(run, _tables(declared), processes if can_fork() else 1)
    return [outcomes[key] for key in declared]


def _tables(declared: Mapping[str, Declared]) -> list[Group]:
    """Return the expectations of each table, the largest group first, so that the last groups are short."""
    tables: dict[str, Group] = {}
    for key, entry in declared.items():
        tables.setdefault(entry[1].table, {})[key] = entry
    return sorted(tables.values(), key=len, reverse=True)


def _validate_tables(
    database: Path, parameters: Mapping[str, Any], config: Mapping[str, Any], tables: Iterator[Group]
) -> dict[str, Outcome]:
    """Open the file, run the expectations of each of these tables, close it."""
    with _quiet():
        context = great_expectations.get_context(mode="ephemeral")
        context.variables.progress_bars = ProgressBarsConfig(globally=False)
        try:
            source = context.data_sources.add_sql(
                "warehouse",
                connection_string=dialect.connection_string(database),
                create_temp_table=False,
                kwargs={"connect_args": {"read_only": True, "config": dict(config)}},  # ty: ignore[unknown-argument]
            )
        except Exception as error:
            raise ValidationError(f"{database}: cannot be opened: {in_one_line(error, MESSAGE_LENGTH)}") from error
        try:
            outcomes: dict[str, Outcome] = {}
            for group in tables:
                ((_, first), *_) = group.values()
                outcomes |= _validate_table(source, first.table, group, parameters)
        finally:
            source.get_execution_engine().close()
            source.get_engine().dispose()
    return outcomes


def _declared(suites: Iterable[Suite]) -> dict[str, Declared]:
    """Return every expectation by its key `<suite>/<id>`.

    Raises ValidationError for an empty suite or a repeated key.
    """
    declared: dict[str, Declared] = {}
    for suite in suites:
        if not suite.expectations:
            raise ValidationError(f"suite '{suite.name}' has no expectation")
        for expectation in suite.expectations:
            key = f"{suite.name}/{expectation.expectation_id}"
            if key in declared:
                raise ValidationError(f"{key}: is declared twice")
            declared[key] = (suite.name, expectation)
    if not declared:
        raise ValidationError("no suite of expectations is declared")
    return declared


def _validate_table(source: Any, table: str, group: Group, parameters: Mapping[str, Any]) -> dict[str, Outcome]:
    """Run all expectations of one table in one validation, so that their aggregates share a scan."""
    keys = list(group)
    built = ExpectationSuite(name=table, expectations=[_build(key, group[key][1]) for key in keys])
    _require_each_once("built", keys, [_key(expectation.meta) for expectation in built.expectations])
    schema, _, name = table.partition(".")
    try:
        asset = source.add_table_asset(table, table_name=name, schema_name=schema)
        batch = asset.get_batch(asset.build_batch_request())  # a batch definition would write the context as YAML again
        results = batch.validate(built, result_format=RESULT_FORMAT, expectation_parameters=dict(parameters)).results
    except Exception as error:
        raise ValidationError(
            f"{table}: {', '.join(keys)} cannot be validated: {in_one_line(error, MESSAGE_LENGTH)}"
        ) from error
    by_key = [(_key(result.expectation_config.meta), result) for result in results]
    _require_each_once("evaluated", keys, [key for key, _ in by_key])
    return {key: _outcome(*group[key], result) for key, result in by_key}


def _key(meta: Any) -> str:
    """Return the key that `_build` wrote into an expectation's meta; the result has it too, in any order of results."""
    return (meta or {}).get("key", "an expectation of unknown origin")


def _build(key: str, expectation: Expectation) -> Any:
    """Return Great Expectations' own object. Raises ValidationError for an unknown type or argument."""
    kwargs = dict(expectation.kwargs)
    if expectation.type in (UNEXPECTED_ROWS, QUERY_ROWS):
        kwargs["query"] = _escape(kwargs["query"])
    try:
        return ExpectationConfiguration(
            type=expectation.type,
            kwargs=kwargs,
            meta={"key": key},
            severity=FailureSeverity(expectation.severity),
        ).to_domain_obj()
    except Exception as error:
        raise ValidationError(f"{key}: cannot be built: {in_one_line(error, MESSAGE_LENGTH)}") from error


PARAMETER = re.compile(r"(?<![:\w\\]):\w+(?![:\w])")
"""Text that SQLAlchemy's text() takes for a parameter."""
ESCAPED_COLON = re.compile(r"\\:\w*(?![:\w])")
"""Text of which it removes the backslash."""


def _escape(query: str) -> str:
    """Escape plain SQL for str.format (braces) and SQLAlchemy's text() (a colon before a name, and an escaped colon).

    Only what SQLAlchemy takes for a parameter is escaped: of any other colon it would keep the backslash.
    """
    kept = PARAMETER.sub(r"\\\g<0>", ESCAPED_COLON.sub(r"\\\g<0>", query))
    return kept.replace("{", "{{").replace("}", "}}")


def _require_each_once(verb: str, declared: list[str], seen: list[str]) -> None:
    """Raise ValidationError unless each declared key was seen exactly once, and no other."""
    counts = Counter(seen)
    wrong = [key for key in declared if counts[key] != 1] + [key for key in counts if key not in declared]
    if wrong:
        raise ValidationError(
            f"{wrong[0]}: was {verb} {counts[wrong[0]]} times; {len(declared)} declared, {len(seen)} {verb}"
        )


def _outcome(suite: str, expectation: Expectation, result: Any) -> Outcome:
    message = _exception_message(result.exception_info or {})
    if message is not None:
        return Outcome(suite, expectation, False, message, "critical")
    if expectation.type == QUERY_ROWS:
        rows = result.result["observed_value"]
        observed = json.dumps({"value": describe_rows(rows)}, ensure_ascii=False)[:MESSAGE_LENGTH]
        return Outcome(suite, expectation, bool(result.success), observed, expectation.severity, rows)
    return Outcome(suite, expectation, bool(result.success), _observed(result.result), expectation.severity)


def _exception_message(info: Mapping[str, Any]) -> str | None:
    """Return the message of an error inside Great Expectations, which is at the top level, or below it by metric."""
    nested = (value for value in info.values() if isinstance(value, Mapping))
    raised = next((entry for entry in (info, *nested) if entry.get("raised_exception")), None)
    if raised is None:
        return None
    return in_one_line(raised.get("exception_message") or "error without a message", MESSAGE_LENGTH)


def _observed(result: Mapping[str, Any]) -> str:
    """Return the figures of a result as short JSON."""
    if "unexpected_count" in result:
        figures = {"unexpected": result["unexpected_count"]}
        if result.get("element_count") is not None:
            figures["of"] = result["element_count"] - (result.get("missing_count") or 0)  # NULLs are not judged
        elif result.get("missing_count"):
            figures["missing"] = result["missing_count"]  # of an expected set; elsewhere these are NULLs
    else:
        figures = {"value": result.get("observed_value")}
    return json.dumps(figures, default=str)[:MESSAGE_LENGTH]


@contextmanager
def _quiet() -> Generator[None]:
    """Suppress warnings and log lines of the libraries while they run."""
    logging.disable(logging.CRITICAL)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    finally:
        logging.disable(logging.NOTSET)
