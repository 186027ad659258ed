"""The measures of one set of predictions: the queries of the corpus, then the statistics that all corpora share."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import duckdb

from dialogue_warehouse.common.database import identifier, literal
from dialogue_warehouse.corpora.scores import SCORE_SQL, Scoring
from dialogue_warehouse.corpora.sections import read_sections
from dialogue_warehouse.errors import InputError, counted
from dialogue_warehouse.lineage.restoring import wrong_query
from dialogue_warehouse.reading.selection import DEFECTS, NO_SPLIT
from dialogue_warehouse.scoring import predictions
from dialogue_warehouse.scoring.predictions import Predictions, columns_of
from dialogue_warehouse.scoring.similarity import similarities

STATISTICS = read_sections(Path(__file__).with_name("statistics.sql"), "part")
"""The queries that all corpora share."""
TOTALS, INTERVALS = ("sums", "totals"), ("influences", "scores")
"""The tables that they make, in this order."""
PAIRS = "pairs"
"""The table of texts to compare, in the corpora that have one."""
MOST_OF_A_PLACE = 500
"""Characters of a place in a message: a predicted text may be long."""
SIMILARITIES = "gold varchar, predicted varchar, difflib double, levenshtein double"


class Measuring:
    """Makes the tables `units` and `scores` of one set of predictions after the other.

    `con` has core of a build as its default schema.
    """

    def __init__(self, con: duckdb.DuckDBPyConnection, scoring: Scoring, split: str | None) -> None:
        self.con, self.scoring, self.split = con, scoring, split
        self.corpus_id = scoring.corpus.corpus_id

    def prepare(
        self, variant: str | None, across_turn: bool, without_defects: str | None, most: int | None = None
    ) -> None:
        """Make the tables that do not depend on predictions. `most` limits the number of dialogues.

        Of dialogues with the same id in a part of the release the last counts, as in the official scripts. Raises
        InputError if there are no dialogues.
        """
        self.con.execute(
            "create or replace temp table selected as select dialogue_key, dialogue_id, split from dim_dialogues"
            f" where corpus_id = ? and coalesce(?, coalesce(split, '{NO_SPLIT}')) = coalesce(split, '{NO_SPLIT}')"
            " qualify row_number() over (partition by source_part, dialogue_id order by id_occurrence desc) = 1"
            " order by dialogue_key limit ?",
            [self.corpus_id, self.split, most],
        )
        if not self.rows("select 1 from selected limit 1"):
            split = "" if self.split is None else f" of the split {self.split}"
            raise InputError(f"{self.corpus_id}: the published warehouse has no dialogue{split}")
        declared = self.scoring.declaration
        self.con.execute(
            "create or replace temp table metrics_declared"
            " (metric varchar, across_turn boolean, is_share boolean, dividend varchar, divisor varchar)"
        )
        self.con.executemany(
            "insert into metrics_declared values (?, ?, ?, ?, ?)",
            [
                (name, across_turn and metric.across_turn, metric.is_share, *(metric.quotient or (None, None)))
                for name, metric in declared.metrics.items()
            ],
        )
        defect = "false" if without_defects is None else f"{DEFECTS[without_defects]} > 0 and corpus_id = ?"
        self.con.execute(
            f"create or replace temp table left_out as select turn_key from quality.annotation_risk where {defect}",
            [self.corpus_id] if without_defects else [],
        )
        self.variants = (variant,) if variant else tuple(declared.variants)
        self.con.execute(f"set variable variant = {literal(self.variants[0] if self.variants else '')}")
        for part in declared.gold:
            self._make(part)

    def read(self, path: Path, scratch: Path) -> Predictions:
        """Make the tables of predictions from files. Raises InputError."""
        return predictions.read(self.con, self.scoring, path, scratch)

    def read_gold(self) -> None:
        """Make the tables of predictions from gold itself."""
        for table, row_type in self.scoring.tables.items():
            columns = ", ".join(f"{identifier(name)} {of}" for name, of in columns_of(row_type).items())
            self.con.execute(f"create or replace temp table {identifier(table)} ({columns})")
            self._run(f"gold_{table}", f"insert into {identifier(table)} by name ")

    def measure(self, only_totals: bool = False) -> None:
        """Make `units` and the statistics of the predictions that were read: `totals`, and `scores` with intervals.

        `only_totals` is faster: `sums` then has no single dialogues, and there are no intervals.
        """
        for part in self.scoring.declaration.compared:
            self._make(part)
            if part == PAIRS:
                self._compare_texts()
        self._make("units")
        if self.scoring.declaration.variants:
            named = ", ".join(map(literal, self.variants))
            self.con.execute(f"delete from units where variant is not null and variant not in ({named})")
        self.con.execute(f"set variable by_dialogue = {not only_totals}")
        self.summarize(TOTALS if only_totals else (*TOTALS, *INTERVALS))

    def summarize(self, steps: Iterable[str] = TOTALS) -> None:
        """Make the statistics of `units`."""
        for step in steps:
            self.con.execute(f"create or replace temp table {step} as {STATISTICS[step]}")

    def notices(self) -> list[tuple[str, int, str, str]]:
        """Return what the predictions have that does not count: problem, times, and the first file and place.

        Raises InputError for what the official script refuses.
        """
        self._make("problems")
        found = self.rows(
            "select is_refused, problem, count(*), arg_min(file, (record, position, place)),"
            " arg_min(place, (record, position, place))"
            " from problems group by is_refused, problem order by is_refused desc, problem"
        )
        shown = []
        for is_refused, problem, times, file, place in found:
            place = place if len(place) <= MOST_OF_A_PLACE else f"{place[:MOST_OF_A_PLACE]}…"
            if is_refused:
                more = f" ({counted(times, 'such place')})" if times > 1 else ""
                raise InputError(f"{file}: {place}: {problem}{more}")
            shown.append((problem, times, file, place))
        return shown

    def examples(self, form: str) -> list[str]:
        """Return the predictions that were read as records of a form, in JSON."""
        return [record for (record,) in self.rows(self.scoring.example(form))]

    def rows(self, query: str) -> list[tuple]:
        """Return the rows of a query."""
        return self.con.execute(query).fetchall()

    def _make(self, part: str) -> None:
        self._run(part, f"create or replace temp table {identifier(part)} as ")

    def _run(self, part: str, before: str) -> None:
        """Run a query of the corpus. Raises CorpusError if it is wrong."""
        try:
            self.con.execute(before + self.scoring.queries[part])
        except (duckdb.ProgrammingError, duckdb.DataError) as error:
            raise wrong_query(f"{self.corpus_id}/{SCORE_SQL}: {part}", error) from error

    def _compare_texts(self) -> None:
        """Make `similarities` of the pairs of texts that the corpus compares, each once."""
        self.con.execute(f"create or replace temp table similarities ({SIMILARITIES})")
        pairs = self.rows(
            f"select distinct gold, predicted from {PAIRS}"
            " where gold is not null and predicted is not null order by gold, predicted"
        )
        computed = [(gold, predicted, *similarities(gold, predicted)) for gold, predicted in pairs]
        columns = list(zip(*computed, strict=True)) or [()] * 4
        self.con.execute(
            "insert into similarities"
            " select unnest(?::varchar[]), unnest(?::varchar[]), unnest(?::double[]), unnest(?::double[])",
            [list(column) for column in columns],
        )
