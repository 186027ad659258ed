"""One run: predictions of a corpus against gold, as tables of results.

The connection is trusted: it runs the queries of the corpus and of this package, and none of a user.
"""

from __future__ import annotations

import contextlib
import hashlib
import importlib.metadata
import tempfile
from collections.abc import Generator, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

import duckdb

from dialogue_warehouse.corpora.scores import Scoring, load_scoring
from dialogue_warehouse.errors import InputError
from dialogue_warehouse.lineage.restoring import another, open_published_core
from dialogue_warehouse.paths import WarehousePaths
from dialogue_warehouse.reading.selection import SPLITS
from dialogue_warehouse.scoring import tables
from dialogue_warehouse.scoring.comparing import compare
from dialogue_warehouse.scoring.measuring import Measuring
from dialogue_warehouse.scoring.predictions import Predictions
from dialogue_warehouse.settings import Settings

Rows = Sequence[tuple]
COMPARISONS = "comparisons"
"""The table of results that a run shares with runs against other predictions."""


@dataclass(frozen=True)
class Request:
    """The predictions to score, and the options."""

    corpus_id: str
    predictions: Path
    split: str | None = None
    variant: str | None = None
    """The one way of comparing texts; None for all ways that the corpus has."""
    across_turn: bool = False
    """Multiplies joint metrics in each turn, as an option of the official script does."""
    without_defects: str | None = None
    """`here` or `from-then-on`: turns with such a known defect do not count."""
    against: Path | None = None
    """Other predictions, for a paired test."""


@dataclass(frozen=True)
class Scores:
    """The result of a run."""

    con: duckdb.DuckDBPyConnection
    """Has `scores.runs`, `scores.metrics` and the other tables of results until the context of the run ends."""
    run_id: str
    scoring: Scoring
    notices: Rows
    """Parts of the predictions that do not count: problem, times, and the first file and place."""
    against_sha256: str | None = None
    """The other predictions of this run, of those that `scores.comparisons` has."""
    against_notices: Rows = ()
    """The same as `notices`, of the other predictions."""

    def is_complete(self) -> bool:
        """Return whether every unit is predicted, and everything that is predicted counts."""
        found = self.con.execute(
            "select count(*) from scores.metrics where run_id = ? and scored_units < units", [self.run_id]
        ).fetchall()
        return not self.notices and found == [(0,)]


@contextlib.contextmanager
def score_published(
    paths: WarehousePaths, settings: Settings, request: Request, to: Path | None = None
) -> Generator[Scores]:
    """Score predictions against the published build.

    `to` is a DuckDB file that keeps the results beside those of other runs. Raises InputError, with nothing kept, for
    predictions that cannot be scored.
    """
    scoring = _checked(request)
    if to is not None:
        tables.refuse_place(to)
    with (
        open_published_core(paths, settings) as (build_id, con),
        tempfile.TemporaryDirectory(prefix="scoring-") as scratch,
    ):
        with ThreadPoolExecutor(1) as beside:
            gold = beside.submit(_score_gold, another(con), scoring, request)
            measuring = Measuring(con, scoring, request.split)
            measuring.prepare(request.variant, request.across_turn, request.without_defects)
            read = measuring.read(request.predictions, Path(scratch))
            measuring.measure()
            notices = _notices(measuring, read)
            gold.result()
        run_id = _run_id(request, read, build_id)
        is_new = to is not None and not to.exists()
        has_tables = tables.attach(con, to)  # another run may have filled the file meanwhile
        with _transaction(con, to if is_new and not has_tables else None):
            tables.make(con)
            _forget(con, run_id)
            _insert(con, "runs", [_run_row(request, read, build_id, run_id)])
            _insert(con, "notices", [(run_id, *notice) for notice in notices])
            con.execute(_METRICS, [run_id])
            con.execute(_UNITS, [run_id])
            if "slots" in scoring.queries:
                con.execute(_SLOTS.format(query=scoring.queries["slots"]), [run_id])
            other: tuple[str | None, Rows] = None, ()
            if request.against is not None:
                other = _compare(measuring, request.against, run_id, Path(scratch))
        yield Scores(con, run_id, scoring, notices, *other)


def _notices(measuring: Measuring, read: Predictions) -> list[tuple[str, int, str, str]]:
    """Return what does not count of the predictions, and what was not read of them."""
    notices = measuring.notices()
    if not read.record_count:
        notices.insert(0, ("nothing is predicted", 1, read.files[0], "it has no record"))
    if read.unread:
        place = f"its name does not end with {read.suffix}"
        notices.append(("a file of the folder is not read", len(read.unread), read.unread[0], place))
    return notices


def _score_gold(con: duckdb.DuckDBPyConnection, scoring: Scoring, request: Request) -> None:
    """Make the table `memory.gold_totals`: the scores of gold itself. Its other tables end with this connection."""
    with con:
        measuring = Measuring(con, scoring, request.split)
        measuring.prepare(request.variant, request.across_turn, request.without_defects)
        measuring.read_gold()
        measuring.measure(only_totals=True)
        con.execute("create table memory.gold_totals as select * from totals")


def _checked(request: Request) -> Scoring:
    """Return the metrics of the corpus. Raises InputError for an option that they do not have."""
    scoring = load_scoring(request.corpus_id)
    declared = scoring.declaration
    if request.variant is not None and request.variant not in declared.variants:
        known = ", ".join(declared.variants) or "one way only, without this option"
        raise InputError(f"{request.corpus_id}: --fuzzy {request.variant}: texts are compared in {known}")
    if request.across_turn and not any(metric.across_turn for metric in declared.metrics.values()):
        raise InputError(f"{request.corpus_id}: --across-turn: no metric is multiplied across a turn")
    if request.without_defects is not None and not declared.has_split:
        raise InputError(f"{request.corpus_id}: --without-defects: your own dialogues have no known defects")
    if request.split is None and declared.has_split:
        raise InputError(f"{request.corpus_id}: --split is missing; there are {', '.join(SPLITS)}")
    if request.split is not None and request.split not in SPLITS:
        raise InputError(f"--split: there is no split {request.split!r}; there are {', '.join(SPLITS)}")
    return scoring


def _run_id(request: Request, read: Predictions, build_id: str) -> str:
    options = (request.corpus_id, request.split, request.variant, request.across_turn, request.without_defects)
    return hashlib.sha256(repr((*options, read.sha256, build_id)).encode()).hexdigest()[:12]


def _run_row(request: Request, read: Predictions, build_id: str, run_id: str) -> tuple:
    return (
        *(run_id, request.corpus_id, request.split, request.predictions.resolve().name, read.sha256, read.form),
        *(request.variant, request.across_turn, request.without_defects, build_id),
        *(importlib.metadata.version("dialogue-warehouse"), datetime.now(UTC).replace(tzinfo=None)),
    )


@contextlib.contextmanager
def _transaction(con: duckdb.DuckDBPyConnection, new: Path | None) -> Generator[None]:
    """Keep all results. After an error keep none, and remove the file `new`, which did not exist before."""
    con.execute("begin")
    try:
        yield
        con.execute("commit")
    except BaseException:
        with contextlib.suppress(duckdb.Error):  # a commit that failed has ended the transaction
            con.execute("rollback")
        if new is not None:
            with contextlib.suppress(duckdb.Error):
                con.execute(f"detach {tables.SCHEMA}")
            new.unlink(missing_ok=True)
        raise


def _forget(con: duckdb.DuckDBPyConnection, run_id: str) -> None:
    """Remove an earlier run with the same id, so that its rows are there once; comparisons with others stay."""
    for table in tables.names():
        if table != COMPARISONS:
            con.execute(f"delete from {tables.SCHEMA}.{table} where run_id = ?", [run_id])


def _insert(con: duckdb.DuckDBPyConnection, table: str, rows: Iterable[tuple]) -> None:
    for row in rows:
        con.execute(f"insert into {tables.SCHEMA}.{table} values ({', '.join('?' * len(row))})", list(row))


def _compare(measuring: Measuring, against: Path, run_id: str, scratch: Path) -> tuple[str, Rows]:
    """Fill `comparisons` with other predictions, of which an earlier comparison is replaced.

    Returns their checksum and notices. Raises InputError if no unit is in both.
    """
    con = measuring.con
    con.execute("create or replace temp table own_units as select * from units")
    other = measuring.read(against, scratch)
    measuring.measure()
    notices = _notices(measuring, other)
    con.execute("create or replace temp table other_units as select * from units")
    compared = compare(measuring, "own_units", "other_units")
    if not compared:
        raise InputError(f"{against}: nothing can be compared: no unit is in both predictions")
    name = against.resolve().name
    con.execute(
        f"delete from {tables.SCHEMA}.{COMPARISONS} where run_id = ? and (against = ? or against_sha256 = ?)",
        [run_id, name, other.sha256],
    )
    _insert(con, COMPARISONS, [(run_id, name, other.sha256, *row) for row in compared])
    return other.sha256, notices


_METRICS = """
    insert into scores.metrics
    select
        ? as run_id,
        scores.metric, scores.variant, scores.group_name,
        scores.value, scores.strict_value, round(gold_totals.value, 12) as gold_value, scores.low, scores.high,
        scores.scored_units / scores.units as coverage,
        scores.units, scores.scored_units, scores.dialogues
    from temp.scores as scores
    left join memory.gold_totals as gold_totals
        on scores.metric = gold_totals.metric
        and scores.variant is not distinct from gold_totals.variant
        and scores.group_name = gold_totals.group_name
    order by scores.metric, scores.variant nulls first, scores.group_name
"""
_UNITS = """
    insert into scores.units
    select
        ? as run_id,
        units.unit_key, cases.dialogue_key, cases.turn_key, units.metric, units.variant, units.is_scored,
        units.numerator, units.denominator
    from temp.units as units
    inner join temp.cases as cases on units.unit_key = cases.unit_key
    anti join temp.left_out as left_out on cases.turn_key = left_out.turn_key
"""
_SLOTS = """
    insert into scores.slots
    select
        ? as run_id,
        found.service, found.slot, found.outcome,
        count(*) as times,
        arg_min(found.example_key, place) as example_key,
        arg_min_null(found.gold, place) as example_gold,
        arg_min_null(found.predicted, place) as example_predicted
    from ({query}) as found
    anti join temp.left_out as left_out on found.turn_key = left_out.turn_key
    cross join lateral (
        select (
            found.dialogue_key, length(found.turn_key), found.turn_key,
            length(found.example_key), found.example_key, found.gold, found.predicted
        ) as place
    )
    group by found.service, found.slot, found.outcome
    order by found.service, found.slot, found.outcome
"""
"""Counts what happened to each slot, with its first place: the key of turn 10 is longer than that of turn 9."""
