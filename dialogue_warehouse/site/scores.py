"""The pages of scores: the runs in a file of `score --to`, and one run with its metrics, slots and units.

The file is attached as `scores` before the connection is restricted. The queries are those that the pages show.
"""

from __future__ import annotations

import contextlib
import functools
import hashlib
import re
from collections import defaultdict
from collections.abc import Generator, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

import duckdb

from dialogue_warehouse.common.database import literal, one_line
from dialogue_warehouse.corpora.scores import Declaration, load_scoring
from dialogue_warehouse.errors import InputError, counted
from dialogue_warehouse.paths import WarehousePaths
from dialogue_warehouse.reading.connection import Connection, build_of, open_published
from dialogue_warehouse.reading.findings import Row, read_rows
from dialogue_warehouse.scoring import tables
from dialogue_warehouse.settings import Settings
from dialogue_warehouse.site.paging import ROWS, Paging, address, number, paged

NAME, TITLE = "scores.html", "Scores"
"""The page of all runs, and its name in the menu."""
ERRORS = ("wrong", "missed", "invented")
"""The outcomes of a slot that are errors."""
DIALOGUE, TURN = 3, 4
"""Parts of a dialogue's key and of a turn's key."""
LEADERBOARD = """\
select
    runs.run_id, runs.predictions, runs.build_id, runs.across_turn, runs.without_defects, runs.scored_at,
    metrics.variant, metrics.value, metrics.low, metrics.high, metrics.strict_value, metrics.gold_value,
    metrics.coverage
from scores.runs as runs
inner join scores.metrics as metrics on runs.run_id = metrics.run_id
where
    runs.corpus_id = {corpus} and runs.split is not distinct from {split}
    and metrics.metric = {metric} and metrics.group_name = {group}
order by
    list_position({variants}, metrics.variant),
    metrics.strict_value desc nulls last, metrics.value desc nulls last, runs.run_id"""
SLOTS = """\
select service, slot, outcome, times, example_key, example_gold, example_predicted
from scores.slots
where run_id = {run}
order by service, slot, outcome"""
UNITS = """\
select
    units.unit_key, units.is_scored, units.numerator, units.denominator, units.turn_key, turns.utterance
from scores.units as units
left join core.fct_turns as turns on units.turn_key = turns.turn_key
where
    units.run_id = {run} and units.metric = {metric} and units.variant is not distinct from {variant}
    and (not units.is_scored or units.numerator < units.denominator)
order by units.is_scored desc, units.dialogue_key, length(units.turn_key), units.turn_key, units.unit_key"""
LOST = f"""
    select
        count(distinct units.dialogue_key) as dialogues
    from scores.units as units
    inner join scores.runs as runs on units.run_id = runs.run_id
    anti join core.dim_dialogues as dialogues on units.dialogue_key = dialogues.dialogue_key
    where runs.build_id <> $build and len(string_split(units.dialogue_key, '/')) >= {DIALOGUE}
"""
"""The dialogues of other builds that this build lacks. Transcripts of one's own have other keys."""
PRESENT = """
    select dialogue_key from core.dim_dialogues where dialogue_key in (select unnest($keys))
    union all
    select turn_key from core.fct_turns where turn_key in (select unnest($keys))
"""


@dataclass(frozen=True)
class Board:
    """The runs on one split of a corpus by one metric, the best first."""

    corpus_id: str
    split: str | None
    metric: str
    description: str
    group: str
    metrics: list[str]
    """The metrics that the runs have."""
    rows: list[Row]
    query: str


@dataclass(frozen=True)
class Run:
    """One set of predictions, and all that is known about it."""

    row: Row
    """Its row in `scores.runs`."""
    declaration: Declaration | None
    """None for a corpus that this version does not have."""
    metrics: list[Row]
    """The main groups first, in the order in which the metrics are declared."""
    main_groups: list[str]
    comparisons: dict[str, list[Row]]
    """By the name of the other predictions."""
    notices: list[Row]
    slots: list[Row]
    """The slots with errors, the most first, each with its `outcomes` by name."""
    slots_query: str
    units: Units


@dataclass(frozen=True)
class Units:
    """A part of the units whose value is not the highest, by one metric."""

    metric: str
    variant: str | None
    choices: list[str]
    """The metrics and variants that a URL can name."""
    rows: list[Row]
    paging: Paging
    query: str


def run_page(run_id: str) -> str:
    """Return the file name of a run's page; the name is valid on every file system."""
    return f"run-{hashlib.sha256(run_id.encode()).hexdigest()[:16]}.html"


def is_run_page(name: str) -> bool:
    """Return whether a file has the name of a run's page."""
    return re.fullmatch(r"run-[0-9a-f]{16}\.html", name) is not None


def check(paths: WarehousePaths, settings: Settings, file: Path) -> list[str]:
    """Read all of a file of results, and return what a reader of its pages must know.

    Raises InputError if it is damaged, or is not a file of results.
    """
    with open_published(paths, settings=settings, scores=file) as con:
        tables.check_columns(con, file)
        _read_whole(con, file)
        build_id = build_of(con)
        others = [run for run in read_runs(con) if run["build_id"] != build_id]
        ((lost,),) = con.execute(LOST, {"build": build_id}).fetchall()
    if not others:
        return []
    lacking = f"; build {build_id} lacks {counted(lost, 'dialogue')} of them" if lost else ""
    verb = "is" if len(others) == 1 else "are"
    return [f"{file}: {counted(len(others), 'run')} {verb} about another build than the published one{lacking}"]


def read_runs(con: Connection) -> list[Row]:
    """Return the runs, by corpus and split, the newest first."""
    return read_rows(con, "select * from scores.runs order by corpus_id, split nulls first, scored_at desc, run_id")


@contextlib.contextmanager
def reading(con: Connection, file: Path) -> Generator[None]:
    """Raise InputError with the name of the file of results if a query fails because the file is damaged."""
    try:
        yield
    except duckdb.InterruptException:
        raise
    except duckdb.Error:
        _read_whole(con, file)
        raise


def _read_whole(con: Connection, file: Path) -> None:
    """Read every value of a file of results. Raises InputError if that fails."""
    try:
        for table in tables.names():
            con.execute(f"select bit_xor(hash(one)) from {tables.SCHEMA}.{table} as one").fetchall()
    except duckdb.Error as error:
        raise InputError(f"{file}: is damaged: {one_line(error)}") from error


def boards(con: Connection, asked: Mapping[str, str] | None = None) -> list[Board]:
    """Return a leaderboard of each corpus and split; `asked` names the metric of one of them."""
    asked = asked or {}
    found = []
    for corpus_id, split in dict.fromkeys((run["corpus_id"], run["split"]) for run in read_runs(con)):
        declared = declaration_of(corpus_id)
        known = read_rows(
            con,
            "select distinct metrics.metric, metrics.group_name from scores.metrics as metrics"
            " inner join scores.runs as runs on metrics.run_id = runs.run_id"
            " where runs.corpus_id = $corpus and runs.split is not distinct from $split order by all",
            {"corpus": corpus_id, "split": split},
        )
        metrics = _in_order({row["metric"] for row in known}, declared.metrics if declared else ())
        groups = _in_order({row["group_name"] for row in known}, declared.main_groups if declared else ())
        if not metrics:
            continue
        is_asked = (asked.get("corpus"), asked.get("split") or None) == (corpus_id, split)
        wanted = asked.get("metric") if is_asked else declared and declared.main_metric
        metric = wanted if wanted in metrics else metrics[0]
        query = LEADERBOARD.format(
            corpus=literal(corpus_id),
            split=_literal(split),
            metric=literal(metric),
            group=literal(groups[0]),
            variants=_list(declared.variants if declared else ()),
        )
        description = declared.metrics[metric].description if declared and metric in declared.metrics else ""
        rows = read_rows(con, query)
        found.append(Board(corpus_id, split, metric, description, groups[0], metrics, rows, query))
    return found


def read_run(con: Connection, run_id: str, asked: Mapping[str, str] | None = None) -> Run:
    """Return a run; `asked` names the metric and the part of its units. Raises InputError if there is no such run."""
    runs = read_rows(con, "select * from scores.runs where run_id = $run", {"run": run_id})
    if not runs:
        raise InputError(f"the file of results has no run {run_id}")
    declared = declaration_of(runs[0]["corpus_id"])
    metrics = read_rows(con, "select * from scores.metrics where run_id = $run", {"run": run_id})
    comparisons: dict[str, list[Row]] = defaultdict(list)
    for row in read_rows(con, "select * from scores.comparisons where run_id = $run order by against", {"run": run_id}):
        comparisons[row["against"]].append(row)
    groups = _in_order({row["group_name"] for row in metrics}, declared.main_groups if declared else ())
    main = [group for group in groups if declared and group in declared.main_groups] or groups[:1]
    query = SLOTS.format(run=literal(run_id))
    return Run(
        runs[0],
        declared,
        _sorted(metrics, groups, declared),
        main,
        {
            against: _sorted([row for row in rows if row["group_name"] in main], groups, declared)
            for against, rows in comparisons.items()
        },
        read_rows(con, "select * from scores.notices where run_id = $run order by problem", {"run": run_id}),
        _slots(con, query),
        query,
        _units(con, run_id, metrics, declared, asked or {}),
    )


def read_each(con: Connection) -> list[Run]:
    """Return all runs."""
    return [read_run(con, run["run_id"]) for run in read_runs(con)]


def example_keys(runs: Iterable[Run]) -> list[str]:
    """Return the keys of the errors that the pages name, those of the worst slots of each run first."""
    slots = [(place, slot) for run in runs for place, slot in enumerate(run.slots)]
    found = [slot["outcomes"][outcome] for _, slot in sorted(slots, key=lambda pair: pair[0]) for outcome in ERRORS]
    return [one["example_key"] for one in found if one and one["is_there"]]


@functools.cache
def declaration_of(corpus_id: str) -> Declaration | None:
    """Return what a corpus declares about its metrics; None if this version has no metrics of it."""
    try:
        return load_scoring(corpus_id).declaration
    except InputError:
        return None


def _slots(con: Connection, query: str) -> list[Row]:
    """Return the slots with errors: the number of each outcome, and its example."""
    slots: dict[tuple, dict[str, Row]] = defaultdict(dict)
    rows = _with_presence(con, read_rows(con, query), "example_key")
    for row in rows:
        slots[row["service"], row["slot"]][row["outcome"]] = row
    found = [
        {
            "service": service,
            "slot": slot,
            "outcomes": {name: outcomes.get(name) for name in ("right", *ERRORS)},
            "errors": sum(outcomes[name]["times"] for name in ERRORS if name in outcomes),
        }
        for (service, slot), outcomes in slots.items()
    ]
    return sorted((slot for slot in found if slot["errors"]), key=lambda slot: -slot["errors"])


def _units(
    con: Connection, run_id: str, metrics: list[Row], declared: Declaration | None, asked: Mapping[str, str]
) -> Units:
    """Return the units of a metric whose value is below 1, or that are not predicted."""
    shares = {name for name, one in declared.metrics.items() if one.is_share and not one.quotient} if declared else None
    known = {(row["metric"], row["variant"]) for row in metrics if shares is None or row["metric"] in shares}
    order = list(declared.metrics) if declared else []
    variants = declared.variants if declared else []
    pairs = sorted(known, key=lambda pair: (_place(order, pair[0]), pair[0], _place(variants, pair[1]), pair[1] or ""))
    choices = {"/".join(filter(None, pair)): pair for pair in pairs}
    main = declared.main_metric if declared else None
    usual = next((pair for pair in pairs if pair[0] == main), pairs[0] if pairs else ("", None))
    metric, variant = choices.get(asked.get("metric", ""), usual)
    query = UNITS.format(run=literal(run_id), metric=literal(metric), variant=_literal(variant))
    ((total,),) = con.execute(f"select count(*) from ({query})").fetchall()
    kept = [("run", run_id), ("metric", asked.get("metric", ""))]
    paging = paged(total, number(asked.get("page")), lambda page: address(NAME, [*kept, ("page", page)], "units"))
    rows = read_rows(con, f"{query}\nlimit {ROWS} offset {paging.start}")
    return Units(metric, variant, list(choices), _with_presence(con, rows, "unit_key"), paging, query)


def _with_presence(con: Connection, rows: list[Row], column: str) -> list[Row]:
    """Add to each row whether this build has its key, as far as the turn. Other texts than keys are never there."""
    parents = {row[column]: _parent(row[column]) for row in rows}
    there = {key for (key,) in con.execute(PRESENT, {"keys": list({*parents.values()})}).fetchall()} if rows else set()
    return [row | {"is_there": parents[row[column]] in there} for row in rows]


def _parent(key: str) -> str:
    segments = key.split("/")
    is_turn = len(segments) >= TURN and segments[DIALOGUE].isdecimal()
    return "/".join(segments[: TURN if is_turn else DIALOGUE])


def _sorted(rows: list[Row], groups: list[str], declared: Declaration | None) -> list[Row]:
    order, variants = (list(declared.metrics), declared.variants) if declared else ([], [])
    return sorted(
        rows,
        key=lambda row: (
            *(_place(groups, row["group_name"]), _place(order, row["metric"]), row["metric"]),
            *(_place(variants, row["variant"]), row["variant"] or ""),
        ),
    )


def _in_order(names: set[str], order: Iterable[str]) -> list[str]:
    """Return these names: first those in the order, then the others."""
    first = [name for name in order if name in names]
    return first + sorted(names - set(first))


def _place(order: list[str], name: str | None) -> int:
    return order.index(name) if name in order else len(order)


def _literal(text: str | None) -> str:
    return "null" if text is None else literal(text)


def _list(texts: Iterable[str]) -> str:
    return f"[{', '.join(map(literal, texts))}]::varchar[]"
