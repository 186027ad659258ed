"""The audit as a process: `python -m expectations.audit PARENT`. It imports Great Expectations when it starts.

Protocol, one JSON object per line. The audit writes `{"ready": true}` and reads a `Request`. It runs the suites, writes
`<output>/expectation_results/results.parquet` and the ledger beside it, closes the database and answers with
`{"suites": {name: {"evaluated", "passed", "warned", "failed", "failures": [...], "verdicts": {...}}}, "seconds": …}` or
`{"error": one line}`. Then it waits for the next request, until its input ends or the process PARENT ends. Nothing else
is written to standard output; an error in the program itself ends it with a traceback on standard error.
`expectations.client` is the other end.
"""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Collection, Iterable, Mapping
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, Literal, TextIO

import duckdb
import msgspec

from dialogue_warehouse.common import files
from dialogue_warehouse.common.processes import collect_seldom, end_at_once, end_with_parent
from dialogue_warehouse.corpora.claims import DeclarationError
from dialogue_warehouse.corpora.suites import OUTCOMES, Expectation, Suite, load_marts_suites, load_suites
from dialogue_warehouse.errors import InputError, in_one_line
from dialogue_warehouse.settings import Settings
from expectations import ledger
from expectations.ledger import Ledger

if TYPE_CHECKING:
    from expectations.validation import Outcome

RESULTS = Path("expectation_results") / "results.parquet"
"""The path of the results inside the request's output folder."""


RESULT_COLUMNS = {
    "build_id": "varchar",
    "suite": "varchar",
    "expectation": "varchar",
    "claim_id": "varchar",
    "table_name": "varchar",
    "success": "boolean",
    "observed": "varchar",
    "severity": "varchar",
    "description": "varchar",
    "run_at": "timestamp",
}


class RequestError(ValueError):
    """The request cannot be served; one line."""


class Request(msgspec.Struct, forbid_unknown_fields=True):
    """A request for an audit. Paths are absolute."""

    database: str
    suites: list[str] | Literal["all"]
    """Names of suites; "all" are those of the corpora and of the marts."""
    corpora: list[str]
    """The ids of the corpora that were built."""
    output: str
    build_id: str
    run_at: datetime
    config: dict[str, Any] = {}
    """DuckDB's settings of each process."""
    processes: int = 1
    """Processes that validate in parallel."""
    only: list[str] | None = None
    """Keys `<suite>/<expectation>`: only these are run."""
    suite_file: str | None = None
    """A file in the form of marts.toml, used instead of the project's own suites; claims are not judged then."""
    scales: dict[str, float] = {}
    """The scales of the corpora that were generated; counts hold at scale 1."""


def main() -> int:
    """Serve requests until standard input ends. Return 1 if the last one could not be served, else 0."""
    end_with_parent(int(sys.argv[1]))
    answers = _take_standard_output()
    collect_seldom()
    from expectations import validation  # takes five seconds; this process exists for it

    _send(answers, {"ready": True})
    status = 0
    for line in sys.stdin:
        try:
            started = time.perf_counter()
            suites = run(msgspec.json.decode(line, type=Request))
            answer, status = {"suites": suites, "seconds": time.perf_counter() - started}, 0
        except msgspec.DecodeError as error:
            answer, status = {"error": f"the request is not valid: {error}"}, 1
        except (RequestError, DeclarationError, validation.ValidationError) as error:
            answer, status = {"error": str(error)}, 1
        _send(answers, answer)
    return status


def run(request: Request) -> dict[str, dict[str, Any]]:
    """Run the requested suites, write the results, return the summary of each suite."""
    from expectations import validation

    database = Path(request.database)
    if not database.is_file():
        raise RequestError(f"{database}: no such database")
    declared = load_marts_suites(Path(request.suite_file)) if request.suite_file else load_suites(request.corpora)
    suites = _requested(declared, request.suites)
    book = None
    if request.only is not None:
        suites = _only(suites, request.only)
    elif request.corpora and not request.suite_file:
        book = _ledger(database, request)
        suites = _weakened(_bounded(_without(suites, book.skipped), book.bounded), book.weakened)
    parameters = {"corpora": request.corpora, "corpus_count": len(request.corpora)}
    outcomes = validation.validate(database, suites, parameters, request.config, request.processes)
    write_results(Path(request.output) / RESULTS, outcomes, request.build_id, request.run_at, _settings(request))
    summary = summarize(outcomes)
    if book is not None and request.suites == "all":
        checks = book.checks(outcomes)
        ledger.write(Path(request.output), book, checks, outcomes, _settings(request))
        for corpus_id, counts in ledger.tally(checks).items():
            if corpus_id in summary:
                summary[corpus_id]["verdicts"] = counts
    return summary


def _ledger(database: Path, request: Request) -> Ledger:
    try:
        return ledger.open_ledger(database, request.corpora, request.scales, _settings(request))
    except (InputError, duckdb.Error) as error:
        raise RequestError(f"{database}: {in_one_line(error)}") from error


def _settings(request: Request) -> Settings:
    """Return the limits of the audit. The ledger is opened before the processes start that share the threads."""
    limit = request.config.get("memory_limit", Settings.memory_limit)
    return Settings(memory_limit=limit, threads=request.processes)


def _without(suites: Iterable[Suite], keys: Collection[str]) -> list[Suite]:
    """Return the suites without these expectations; a suite that becomes empty is left out."""
    narrowed = []
    for suite in suites:
        kept = tuple(entry for entry in suite.expectations if f"{suite.name}/{entry.expectation_id}" not in keys)
        if kept:
            narrowed.append(replace(suite, expectations=kept))
    return narrowed


def _bounded(suites: Iterable[Suite], keys: Collection[str]) -> list[Suite]:
    """Return the suites with these expectations as bounds: a part of a release has no more than the whole.

    They are warnings, because files that differ from the publisher's can have more of anything.
    """

    def bounded(name: str, entry: Expectation) -> Expectation:
        if f"{name}/{entry.expectation_id}" not in keys:
            return entry
        return replace(entry, kwargs={**entry.kwargs, "at_most": True}, severity="warning")

    return [
        replace(suite, expectations=tuple(bounded(suite.name, entry) for entry in suite.expectations))
        for suite in suites
    ]


def _weakened(suites: Iterable[Suite], keys: Collection[str]) -> list[Suite]:
    """Return the suites with these expectations as warnings: the rejected records explain a difference."""
    return [
        replace(
            suite,
            expectations=tuple(
                replace(entry, severity="warning") if f"{suite.name}/{entry.expectation_id}" in keys else entry
                for entry in suite.expectations
            ),
        )
        for suite in suites
    ]


def _requested(suites: Iterable[Suite], names: list[str] | str) -> list[Suite]:
    """Return the suites of these names, all for "all". Raises RequestError for an unknown name, and for no name."""
    by_name = {suite.name: suite for suite in suites}
    if names == "all":
        return list(by_name.values())
    unknown = [name for name in names if name not in by_name]
    if unknown or not names:
        raise RequestError(f"there is no suite '{unknown[0]}'" if unknown else "no suite is requested")
    return [by_name[name] for name in dict.fromkeys(names)]


def _only(suites: Iterable[Suite], keys: Iterable[str]) -> list[Suite]:
    """Return the suites with these expectations only. Raises RequestError for an unknown key."""
    wanted = set(keys)
    narrowed = []
    for suite in suites:
        kept = tuple(entry for entry in suite.expectations if f"{suite.name}/{entry.expectation_id}" in wanted)
        wanted -= {f"{suite.name}/{entry.expectation_id}" for entry in kept}
        if kept:
            narrowed.append(replace(suite, expectations=kept))
    if wanted:
        raise RequestError(f"there is no expectation '{min(wanted)}' in the requested suites")
    return narrowed


def summarize(outcomes: Iterable[Outcome]) -> dict[str, dict[str, Any]]:
    """Count by suite what was evaluated, passed, warned (failed as a warning) and failed; list the failures."""
    summary: dict[str, dict[str, Any]] = {}
    for outcome in outcomes:
        suite = summary.setdefault(outcome.suite, {"evaluated": 0, **dict.fromkeys(OUTCOMES, 0), "failures": []})
        suite["evaluated"] += 1
        if outcome.success:
            suite["passed"] += 1
            continue
        suite["warned" if outcome.severity == "warning" else "failed"] += 1
        suite["failures"].append(
            {
                "expectation": outcome.expectation.expectation_id,
                "claim_id": outcome.expectation.claim_id,
                "severity": outcome.severity,
                "observed": outcome.observed,
                "description": outcome.expectation.description,
            }
        )
    return summary


def write_results(path: Path, outcomes: Iterable[Outcome], build_id: str, run_at: datetime, settings: Settings) -> None:
    """Write one row per expectation, replacing the file in one step; `run_at` in UTC, without its zone."""
    if run_at.tzinfo is not None:
        run_at = run_at.astimezone(UTC).replace(tzinfo=None)
    rows = [
        {
            "build_id": build_id,
            "suite": outcome.suite,
            "expectation": outcome.expectation.expectation_id,
            "claim_id": outcome.expectation.claim_id,
            "table_name": outcome.expectation.table,
            "success": outcome.success,
            "observed": outcome.observed,
            "severity": outcome.severity,
            "description": outcome.expectation.description,
            "run_at": run_at,
        }
        for outcome in outcomes
    ]
    files.write_table(path, RESULT_COLUMNS, rows, settings)


def _take_standard_output() -> TextIO:
    """Return standard output for the protocol; output of any library goes to standard error from now on."""
    answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)
    return answers


def _send(answers: TextIO, message: Mapping[str, Any]) -> None:
    answers.write(json.dumps(message) + "\n")
    answers.flush()


def _die(kind: type[BaseException], error: BaseException, trace: TracebackType | None) -> None:
    """Print the traceback and end at once."""
    sys.__excepthook__(kind, error, trace)
    end_at_once(1, sys.stdout, sys.stderr)


if __name__ == "__main__":
    sys.excepthook = _die
    end_at_once(main(), sys.stdout, sys.stderr)
