"""The types with which the folder of a corpus declares its metrics; nothing about how they are computed.

The folder has `score.toml` (the metrics, and which queries make which tables), `score.sql` (the queries; more of them
are in `score_*.sql`) and `score.py` (`TABLES`, the rows that predictions become, and `FORMS`, the files of
predictions). A corpus without these files has no metrics. docs/add_a_corpus.md describes the queries.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import msgspec
from msgspec import Struct

from dialogue_warehouse.corpora import registry
from dialogue_warehouse.corpora.registry import CorpusError
from dialogue_warehouse.corpora.release import Corpus
from dialogue_warehouse.corpora.sections import file_of, read_sections
from dialogue_warehouse.errors import InputError

SCORE_SQL, SCORE_TOML, SCORE_PY = "score.sql", "score.toml", "score.py"
FILES = (SCORE_SQL, SCORE_TOML, SCORE_PY)
SQL_FILES = "score*.sql"
"""The files with queries: SCORE_SQL, and more if that would be too long."""


class Row(Struct, kw_only=True):
    """A row of a table that predictions become. The reader of the files sets these columns."""

    file: str = ""
    record: int = 0
    """Number of the record in all files, from 0; always 0 in a form without `has_records`."""
    position: int = 0
    """Number of the row in all files, from 0."""


@dataclass(frozen=True)
class PredictionForm:
    """A form of files with predictions: `.json` has an array or an object of records, `.jsonl` a record per line."""

    name: str
    suffix: str
    record: Any
    """The msgspec type of a record."""
    rows: Callable[[Any], Iterator[tuple[str, Row]]]
    """Returns the rows of a record, each with the name of its table. Raises ValueError for a record that is wrong."""
    place: Mapping[str, str]
    """The keys of a record that name its dialogue and turn, the dialogue first, and the words for them in messages."""
    has_records: bool = True
    """The queries distinguish records by `Row.record`, as that of a whole dialogue. Otherwise each row counts alone."""


class Metric(Struct, forbid_unknown_fields=True):
    """A metric, as score.toml declares it."""

    description: str
    source: str
    """The function of the official script that computes it, or `ours`."""
    across_turn: bool = False
    """`--across-turn` multiplies its values in each turn."""
    is_share: bool = True
    """Its values are between 0 and 1."""
    quotient: tuple[str, str] | None = None
    """Two other metrics: this one is the first divided by the second, and score.sql has no values of it."""


class Declaration(Struct, forbid_unknown_fields=True):
    """The content of score.toml."""

    source: str
    """The official script, with its version."""
    main_metric: str
    """The metric by which the page of scores orders the runs: a share, the higher the better."""
    main_groups: list[str]
    """The groups of the printed table."""
    gold: list[str]
    """The queries of the tables that are made once, in this order."""
    compared: list[str]
    """The queries of the tables that are made for each set of predictions, in this order.

    `pairs` has the columns `gold` and `predicted`, texts to compare: the tables after it can use `similarities`.
    """
    metrics: dict[str, Metric]
    variants: list[str] = []
    """The ways of comparing texts, the official one first; empty if there is one way only."""
    has_split: bool = True
    """Predictions are about the dialogues of a split, not dialogues of one's own."""


@dataclass(frozen=True)
class Scoring:
    """All that a corpus declares about its metrics."""

    corpus: Corpus
    declaration: Declaration
    queries: Mapping[str, str]
    tables: Mapping[str, type[Row]]
    forms: tuple[PredictionForm, ...]

    def example(self, form: str) -> str:
        """Return the query of the records of a form: `example_<form>`, or `example` if all forms have the same."""
        return self.queries.get(f"example_{form}") or self.queries["example"]


NEEDED = ("cases", "units", "problems")
"""The queries that each score.sql has."""


@functools.cache
def load_scoring(corpus_id: str) -> Scoring:
    """Read the score files of a corpus. Raises InputError if it has none, CorpusError if one is missing or wrong."""
    corpus = registry.load_corpus(corpus_id)
    lacking = [name for name in FILES if not (corpus.folder / name).is_file()]
    if len(lacking) == len(FILES):
        raise InputError(f"{corpus_id}: has no metrics; corpora with metrics are {', '.join(scored_corpora())}")
    if lacking:
        raise CorpusError(f"{corpus_id}: {lacking[0]} is missing")
    try:
        declaration = msgspec.toml.decode(file_of(corpus, SCORE_TOML).read_bytes(), type=Declaration)
    except msgspec.MsgspecError as error:
        raise CorpusError(f"{corpus_id}/{SCORE_TOML}: {error}") from error
    if declaration.main_metric not in declaration.metrics:
        raise CorpusError(f"{corpus_id}/{SCORE_TOML}: main_metric: there is no metric {declaration.main_metric}")
    module = registry.load_module(corpus_id, "score", "TABLES", "FORMS")
    queries: dict[str, str] = {}
    for path in sorted(corpus.folder.glob(SQL_FILES)):
        queries |= read_sections(path, "part")
    needed = [*NEEDED, *declaration.gold, *declaration.compared, *(f"gold_{name}" for name in module.TABLES)]
    if "example" not in queries:
        needed += [f"example_{form.name}" for form in module.FORMS]
    if missing := [name for name in needed if name not in queries]:
        raise CorpusError(f"{corpus_id}/{SCORE_SQL}: no query for {missing[0]}")
    return Scoring(corpus, declaration, queries, module.TABLES, module.FORMS)


def scored_corpora() -> list[str]:
    """Return the ids of the corpora that have metrics."""
    return [name for name in registry.corpus_ids() if (registry.corpus_folder(name) / SCORE_SQL).is_file()]
