"""The open warehouse of the Python API."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, Literal

from dialogue_warehouse.api import arguments
from dialogue_warehouse.api.dialogues import Dialogue, Dialogues, examples_of, form_options, with_methods
from dialogue_warehouse.api.fixed import fixed
from dialogue_warehouse.api.opened import Opened
from dialogue_warehouse.api.scores import Scores, collected
from dialogue_warehouse.api.tables import TableDescription, Tables, with_views
from dialogue_warehouse.common.progress import Reporter
from dialogue_warehouse.common.text import VERDICTS
from dialogue_warehouse.errors import InputError
from dialogue_warehouse.exporting.writing import OPTIONS, Exported, export_published
from dialogue_warehouse.reading import catalogue, findings, query, search, selection
from dialogue_warehouse.reading.dialogues import read_dialogue
from dialogue_warehouse.reading.selection import DEFECTS
from dialogue_warehouse.scoring import running

if TYPE_CHECKING:
    import duckdb


class Warehouse:
    """A published warehouse, open and read-only. `dialogue_warehouse.open` returns one.

    Threads may share it: each call opens another connection to the same build. Until `refresh` is called, it shows the
    build that was published when it was opened. A closed warehouse, one that another process has opened, and a damaged
    file raise InputError; in `export`, `score` and examples, so does a build that is not the published one any more.
    """

    def __init__(
        self, place: str | Path, *, raw: bool = False, memory_limit: str | None = None, threads: int | None = None
    ) -> None:
        """Open the warehouse, as `dialogue_warehouse.open` does."""
        settings = arguments.settings_of(memory_limit, threads)
        self._opened = Opened(arguments.place(place), arguments.flag("raw", raw), settings)

    @property
    def build_id(self) -> str:
        """The id of the open build: the time of its start, in UTC."""
        return self._opened.build_id

    @property
    def place(self) -> str:
        """The place that was opened; of a URL, without its query."""
        return self._opened.place.named

    def sql(self, text: str, /, **parameters: Any) -> duckdb.DuckDBPyRelation:
        """Run one SELECT or EXPLAIN, in the sandbox of the command `sql`.

        Parameters
        ----------
        text
            The query. Tables need no schema name.
        **parameters
            The values of `$name` in the query.

        Returns
        -------
        duckdb.DuckDBPyRelation
            DuckDB's relation. It runs when it is read: `.fetchall()`, or with the library installed `.df()` (pandas),
            `.pl()` (polars) and `.to_arrow_table()` (pyarrow). Reading it may raise an error of DuckDB. It cannot write
            a file; `.df().to_csv(FILE)` and `.pl().write_parquet(FILE)` can.

        Raises
        ------
        QueryError
            If the text is not one SELECT or EXPLAIN, or names something that is not there.
        """
        con = self._opened.another()
        with self._opened.explaining():
            return query.run_query(con, arguments.text("text", text), parameters).relation()

    def tables(self) -> Tables:
        """List every table with its schema, its number of rows and the first sentence of its description."""
        with self._opened.another() as con, self._opened.explaining():
            return Tables(catalogue.list_tables(con))

    def table(self, name: str) -> duckdb.DuckDBPyRelation:
        """Return all rows of a table, such as `fct_turns` or `core.fct_turns`, as DuckDB's relation.

        Raises
        ------
        QueryError
            If there is no such table; it names similar ones.
        """
        con = self._opened.another()
        with self._opened.explaining():
            return con.sql(f"from {catalogue.address_of(con, arguments.text('name', name))}")

    def describe(self, name: str) -> TableDescription:
        """Describe a table: its grain, key, joins and columns, and which corpora fill them.

        Raises
        ------
        QueryError
            If there is no such table; it names similar ones.
        """
        with self._opened.another() as con, self._opened.explaining():
            return with_views(catalogue.describe_table(con, arguments.text("name", name)))

    def claims(
        self,
        *,
        corpus: str | Iterable[str] | None = None,
        verdict: Literal["reproduced", "refuted", "vacuous", "source_absent", "not_checkable"] | None = None,
        unexpected: bool = False,
        claim: str | None = None,
    ) -> duckdb.DuckDBPyRelation:
        """Return the claims of the corpora's documents, each with the number in the data and a verdict.

        Parameters
        ----------
        corpus
            Only the claims about this corpus, or about these.
        verdict
            Only claims with this verdict: `reproduced`, `refuted`, `vacuous`, `source_absent` or `not_checkable`.
        unexpected
            Only claims whose verdict or number is not the recorded one.
        claim
            Only the claim with this id.

        Raises
        ------
        InputError
            If there is no such corpus, verdict or claim.
        """
        arguments.refuse_other("verdict", verdict, VERDICTS)
        unexpected = arguments.flag("unexpected", unexpected)
        claim = None if claim is None else arguments.text("claim", claim)
        corpora = arguments.corpora(corpus)
        with self._opened.another() as con, self._opened.explaining():
            selection.refuse_absent_corpora(con, corpora)
            findings.refuse_unknown_claim(con, claim)
        return self.sql(findings.claims_query(corpora, verdict, unexpected, "whole", claim))

    def violations(
        self, *, corpus: str | Iterable[str] | None = None, rule: str | None = None, summary: bool = False
    ) -> duckdb.DuckDBPyRelation:
        """Return the violations: each row that breaks a rule, with its file, record and turn.

        Parameters
        ----------
        corpus
            Only the violations in this corpus, or in these.
        rule
            Only violations of this rule.
        summary
            Return the rules with their numbers of violations instead. A rule of all corpora has no `corpus_id`; with
            `corpus`, its number leaves out corpora with their own entry for it.

        Raises
        ------
        InputError
            If there is no such corpus or rule.
        """
        summary = arguments.flag("summary", summary)
        rule = None if rule is None else arguments.text("rule", rule)
        corpora = arguments.corpora(corpus)
        with self._opened.another() as con, self._opened.explaining():
            selection.refuse_absent_corpora(con, corpora)
            findings.refuse_unknown_rule(con, rule)
        return self.sql(findings.violations_query(corpora, rule, summary, detail="whole"))

    def dialogue(self, key: str) -> Dialogue:
        """Return the dialogue of a key with all its data. To read many, `dialogues(keys=…)` is far faster than a loop.

        Parameters
        ----------
        key
            The key of a dialogue, or of any row that belongs to one; then `mark` has the row.

        Raises
        ------
        TraceError
            If no row has the key; it names the nearest keys.
        InputError
            If the row belongs to no dialogue.
        """
        examples = examples_of(self._opened)
        with self._opened.another() as con, self._opened.explaining():
            return with_methods(read_dialogue(con, arguments.text("key", key)), examples)

    def dialogues(
        self,
        *,
        keys: str | Iterable[str] | None = None,
        corpus: str | Iterable[str] | None = None,
        split: str | Iterable[str] | None = None,
        where: str | None = None,
        without_defects: Literal["here", "from-then-on"] | None = None,
        without_leaks: bool = False,
        license: str | Iterable[str] | None = None,  # noqa: A002 the word of a selection
        sample: int | None = None,
        seed: int = 0,
    ) -> Dialogues:
        """Select dialogues, with the options of the command `export`, or by their keys.

        Parameters
        ----------
        keys
            Only the dialogue with this key, or those with these, in the order of the keys.
        corpus
            Only this corpus, or these.
        split
            Only this split, or these: `train`, `validation`, `test`, `none` (the publisher gives none).
        where
            Only dialogues for which this expression over `core.dim_dialogues` is true.
        without_defects
            Leaves out a dialogue with a known defect: of itself, of a turn, or of a definition that a turn uses. `here`
            and `from-then-on` leave out the same dialogues; `score`, which leaves out turns, distinguishes them.
        without_leaks
            Leaves out a training dialogue if a dialogue of another split has the same texts.
        license
            Only corpora with this license, or these, written as in `core.dim_corpora`.
        sample
            The number of dialogues to take, chosen by a hash of key and seed: the same ones each time.
        seed
            The seed of the sample.

        Returns
        -------
        Dialogues
            They are read when they are iterated, in constant memory; `len` and `keys` read nothing.

        Raises
        ------
        InputError
            If an argument is not valid, or no dialogue matches.
        QueryError
            If `where` is not one expression that can be run.
        """
        wanted = arguments.selection_of(
            keys, corpus, split, where, without_defects, without_leaks, license, sample, seed
        )
        examples, con = examples_of(self._opened), self._opened.another()
        with self._opened.explaining():
            selected = selection.select(con, wanted, self._opened.settings.query_timeout)
        return Dialogues(con, selected, examples, self._opened.explained)

    def search(
        self,
        said: str,
        *,
        most: int = 50,
        keys: str | Iterable[str] | None = None,
        corpus: str | Iterable[str] | None = None,
        split: str | Iterable[str] | None = None,
        where: str | None = None,
        without_defects: Literal["here", "from-then-on"] | None = None,
        without_leaks: bool = False,
        license: str | Iterable[str] | None = None,  # noqa: A002 the word of a selection
        sample: int | None = None,
        seed: int = 0,
    ) -> duckdb.DuckDBPyRelation:
        """Find the utterances that have all these words, the best first; hits are in square brackets.

        Parameters
        ----------
        said
            The words. `'"two words"'` is a phrase, and `wor*` any word that begins so.
        most
            The maximum number of utterances.
        keys, corpus, split, where, without_defects, without_leaks, license, sample, seed
            The selection, as in `dialogues`.

        Returns
        -------
        duckdb.DuckDBPyRelation
            The columns `turn_key`, `role` and `utterance`.

        Raises
        ------
        InputError
            If `said` has no word, an argument is not valid, or no dialogue matches the selection.
        """
        wanted = arguments.selection_of(
            keys, corpus, split, where, without_defects, without_leaks, license, sample, seed
        )
        with self._opened.another() as con, self._opened.explaining():
            timeout = self._opened.settings.query_timeout
            said, most = arguments.text("said", said), arguments.number("most", most)
            found = search.search(con, self._opened.place.paths, said, wanted, most, timeout)
        return self.sql(search.FOUND, **search.parameters(found))

    def export(
        self,
        form: str,
        to: str | Path,
        *,
        keys: str | Iterable[str] | None = None,
        corpus: str | Iterable[str] | None = None,
        split: str | Iterable[str] | None = None,
        where: str | None = None,
        without_defects: Literal["here", "from-then-on"] | None = None,
        without_leaks: bool = False,
        license: str | Iterable[str] | None = None,  # noqa: A002 the word of a selection
        sample: int | None = None,
        seed: int = 0,
        force: bool = False,
        **options: Any,
    ) -> list[Exported]:
        """Write dialogues as training data, one file per corpus and split, and the loss ledger `losses.json`.

        Parameters
        ----------
        form
            The form: `chat`, `huggingface` or `preference`. docs/export.md describes them.
        to
            The folder to write into.
        keys, corpus, split, where, without_defects, without_leaks, license, sample, seed
            The selection, as in `dialogues`. The order of the keys changes nothing in the files.
        force
            Overwrites existing files that differ.
        **options
            The options of the form: `profile` (`"faithful"`, `"alternating"`), `arguments` (`"object"`, `"string"`),
            `targets` (None, `"weight"`, `"train"`), `instructions` (True, False), `max_characters` (a number). The form
            `preference` has only the last one.

        Returns
        -------
        list[Exported]
            The path of each written file below the folder, and its counts.

        Raises
        ------
        InputError
            If an argument or option is not valid, no dialogue matches, an existing file differs, or another export is
            writing into the folder. Nothing is written.
        CheckError
            If a file cannot be written, or memory runs out.
        """
        if not isinstance(form, str) or form not in OPTIONS:
            raise InputError(f"there is no form {form!r}; there are {', '.join(OPTIONS)}")
        folder, force = arguments.folder("to", to), arguments.flag("force", force)
        wanted = arguments.selection_of(
            keys, corpus, split, where, without_defects, without_leaks, license, sample, seed
        )
        chosen = form_options(form, OPTIONS[form], options)
        paths, settings = self._opened.current()
        with self._opened.explaining():
            written = export_published(paths, settings, wanted, chosen, folder, Reporter(quiet=True), force)
        return [replace(one, counts=fixed(one.counts)) for one in written]

    def score(
        self,
        corpus: str,
        predictions: str | Path,
        *,
        split: str | None = None,
        fuzzy: Literal["difflib", "levenshtein", "exact"] | None = None,
        across_turn: bool = False,
        without_defects: Literal["here", "from-then-on"] | None = None,
        against: str | Path | None = None,
        to: str | Path | None = None,
    ) -> Scores:
        """Compute the official metrics of a corpus over predictions, as the command `score` does.

        Parameters
        ----------
        corpus
            The corpus that the predictions are about.
        predictions
            A file or a folder of predictions; docs/score.md describes its forms.
        split
            The split that the predictions are about; None for a corpus that scores dialogues of your own.
        fuzzy
            The one way of comparing texts; the default is all ways that the corpus has.
        across_turn
            Multiplies joint metrics over the frames of a turn.
        without_defects
            `here` leaves out turns with a known defect, `from-then-on` also later turns that carry the affected state.
        against
            Other predictions, for a paired test.
        to
            A DuckDB file that keeps the results beside those of other runs.

        Returns
        -------
        Scores
            Every value with its interval, its strict value, its gold value and its coverage.

        Raises
        ------
        InputError
            If an argument is not valid, or the predictions cannot be scored. The message names file, dialogue and turn.
        """
        arguments.refuse_other("without_defects", without_defects, DEFECTS)
        paths, settings = self._opened.current()
        request = running.Request(
            arguments.corpora(arguments.text("corpus", corpus))[0],
            arguments.path("predictions", predictions),
            split=None if split is None else arguments.text("split", split),
            variant=None if fuzzy is None else arguments.text("fuzzy", fuzzy),
            across_turn=arguments.flag("across_turn", across_turn),
            without_defects=without_defects,
            against=None if against is None else arguments.path("against", against),
        )
        kept = None if to is None else arguments.path("to", to)
        with (
            self._opened.explaining(),
            running.score_published(paths, settings, request, kept) as found,
        ):
            return collected(found)

    def refresh(self) -> bool:
        """Open the newest build if another one has been published since; return True if one was.

        If a URL was opened, a newer file is downloaded. Results that were made before still show the old build.

        Raises
        ------
        InputError, DownloadError
            As `dialogue_warehouse.open` does. Then the old build stays open.
        """
        return self._opened.refresh()

    def close(self) -> None:
        """Close the warehouse. Results that have not been read are lost. A second call does nothing."""
        self._opened.close()

    def __enter__(self) -> Warehouse:
        """Return the warehouse; the end of the `with` statement closes it."""
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> Literal[False]:
        """Close the warehouse."""
        self.close()
        return False

    def __repr__(self) -> str:
        return f"<Warehouse {self.place!r}, {f'build {self.build_id}' if self._opened.is_open else 'closed'}>"

    def _repr_html_(self) -> str | None:
        """Return a summary for a notebook: the corpora with their numbers, the claims by verdict; None if closed."""
        if not self._opened.is_open:
            return None
        from dialogue_warehouse.api import notebook  # Jinja is needed only here

        with self._opened.another() as con, self._opened.explaining():
            return notebook.summary_of(con, self.place, self.build_id)
