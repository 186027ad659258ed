"""The loss ledger: every value of core has a fate, the numbers add up, and what is said to be kept is in the examples."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import lru_cache
from pathlib import Path
from typing import Any

import duckdb
import pytest

from dialogue_warehouse.common.progress import Reporter
from dialogue_warehouse.corpora import registry
from dialogue_warehouse.exporting import losses, writing
from dialogue_warehouse.exporting.chat import ChatOptions
from dialogue_warehouse.exporting.huggingface import HuggingFaceOptions
from dialogue_warehouse.exporting.preference import PreferenceOptions
from dialogue_warehouse.lineage.restoring import open_core
from dialogue_warehouse.paths import WarehousePaths
from dialogue_warehouse.reading.selection import Selection
from dialogue_warehouse.settings import Settings
from dialogue_warehouse.storage import builds
from tests import exported, exports_page
from tests.conftest import Once, rows

CORPORA = registry.corpus_ids()
EXPORTS = {
    "faithful": (Selection(), ChatOptions(instructions=True)),
    "alternating": (Selection(), ChatOptions(profile="alternating")),
    "short": (Selection(splits=("train", "none"), sample=80), ChatOptions(max_characters=9000)),
    "huggingface": (Selection(splits=("test", "none")), HuggingFaceOptions(profile="alternating")),
    "preference": (Selection(), PreferenceOptions()),
    "short preference": (Selection(splits=("test", "none")), PreferenceOptions(max_characters=250)),
}
FATES = losses.FATES


@pytest.fixture(scope="module", params=EXPORTS)
def folder(request: pytest.FixtureRequest, once: Once, sample_folder: Path, only: tuple[str, ...]) -> Path:
    """Return the folder of an export."""
    if not exports_page.has_examples(EXPORTS[request.param][1], only[1:] or CORPORA):
        pytest.skip(f"{only[-1]} has nothing for {request.param}")
    return once(f"ledger_{request.param}", lambda to: export(sample_folder, to, request.param))


def export(warehouse: Path, to: Path, name: str) -> None:
    selection, options = EXPORTS[name]
    with duckdb.connect(str(warehouse / "dialogues.duckdb"), read_only=True) as con:
        found = {
            split or "none" for (split,) in con.execute("select distinct split from core.dim_dialogues").fetchall()
        }
    if not found & set(selection.splits):  # a corpus may have only one split
        selection = replace(selection, splits=())
    settings = Settings(warehouse=warehouse)
    writing.export_published(WarehousePaths(warehouse), settings, selection, options, to, Reporter())


@pytest.fixture(scope="module")
def con(sample_warehouse: Path) -> Iterator[duckdb.DuckDBPyConnection]:
    with duckdb.connect(str(sample_warehouse), read_only=True) as con:
        yield con


def tables_of(folder: Path, corpus_id: str) -> dict[str, dict[str, Any]]:
    """Return the tables of a corpus in the ledger, by name; empty if no dialogue of the corpus is selected."""
    ledger = json.loads((folder / losses.LEDGER).read_text(encoding="utf-8"))
    tables = ledger["corpora"].get(corpus_id, {"tables": []})["tables"]
    return {table["table"].removeprefix("core."): table for table in tables}


def columns_of(con: duckdb.DuckDBPyConnection) -> dict[str, list[str]]:
    """Return the columns of each table of core."""
    found = rows(
        con, "select table_name, list(column_name) from duckdb_columns() where schema_name = 'core' group by all"
    )
    return dict(found)


def of_corpus(corpus_id: str, columns: list[str]) -> str:
    """Return the condition for the rows of a corpus."""
    return f"corpus_id = '{corpus_id}'" if "corpus_id" in columns else f"source_file_id like '{corpus_id}/%'"


@pytest.mark.parametrize("corpus_id", CORPORA)
def test_every_value_of_core_has_a_fate(folder: Path, con: duckdb.DuckDBPyConnection, corpus_id: str) -> None:
    tables, columns = tables_of(folder, corpus_id), columns_of(con)
    if not tables:
        assert not list(folder.glob(f"{corpus_id}/*"))
        return
    for table, names in columns.items():
        counts = ", ".join(f'count("{name}")' for name in names)
        (count, *values), *_ = rows(
            con, f"select count(*), {counts} from core.{table} where {of_corpus(corpus_id, names)}"
        )
        assert (table in tables) == (count > 0), table
        if count:
            ledger = tables[table]
            assert ledger["rows"] == count == ledger["joinable_rows"] + ledger["dropped_rows"]
            assert {each["column"]: each["values"] for each in ledger["columns"]} == dict(
                zip(names, values, strict=True)
            )
            for each in ledger["columns"]:
                assert min(each[fate] for fate in FATES) >= 0
                assert sum(each[fate] for fate in FATES) == each["values"], (table, each)
                assert bool(each["joinable"]) == ("why_joinable" in each)
                assert bool(each["dropped"]) == ("why_dropped" in each)
                assert each["kept"] + each["merged"] == 0 or each["place"]


def texts_of(value: Any) -> Iterator[str]:
    """Return the texts in a JSON value, with those of a text that is JSON."""
    match value:
        case dict():
            for key, each in value.items():
                yield key
                yield from texts_of(each)
        case list():
            for each in value:
                yield from texts_of(each)
        case bool() | int():
            yield json.dumps(value)
        case str():
            yield value
            if value.startswith(("[", "{")):
                yield from texts_of(json.loads(value))


@lru_cache(maxsize=1)
def texts_of_examples(folder: Path, corpus_id: str) -> tuple[frozenset[str], str]:
    """Return the texts in the examples of a corpus: each one, and all of them joined, to find parts of them."""
    texts = dict.fromkeys(text for example in exported.examples(folder, corpus_id) for text in texts_of(example))
    return frozenset(texts), "\n".join(texts)


def lacking(con: duckdb.DuckDBPyConnection, folder: Path, corpus_id: str, table: str, columns: set[str]) -> set[str]:
    """Return the columns with fewer values in the examples than the ledger has kept."""
    entry, names = tables_of(folder, corpus_id)[table], columns_of(con)[table]
    whole, joined = texts_of_examples(folder, corpus_id)
    found = set()
    for each in entry["columns"]:
        if each["column"] in columns:
            values = rows(
                con,
                f'select "{each["column"]}" as value, count(*) from core.{table}'
                f' where {of_corpus(corpus_id, names)} and "{each["column"]}" is not null group by all',
            )
            number = sum(
                times for value, times in values if all(part in whole or part in joined for part in parts_of(value))
            )
            if number < max(each["kept"] + each["merged"], 1):
                found.add(each["column"])
    return found


def parts_of(value: Any) -> list[str]:
    """Return the texts of a value of a column."""
    match value:
        case dict():
            return [text for pair in value.items() for text in pair]
        case list():
            return value
        case bool():
            return [json.dumps(value)]
    return [str(value)]


@pytest.mark.parametrize("corpus_id", CORPORA)
def test_joinable_rows_are_found_through_the_keys_of_the_examples(
    folder: Path, con: duckdb.DuckDBPyConnection, corpus_id: str
) -> None:
    """A second count, from `source`: the rows of the dialogues that it names; all rows of a corpus without such a key."""
    keys = {example["source"]["dialogue_key"] for example in exported.examples(folder, corpus_id)}
    con.execute("create or replace temp table named as select unnest(?::varchar[]) as key", [sorted(keys)])
    columns = columns_of(con)
    for table, entry in tables_of(folder, corpus_id).items():
        key = next((name for name in ("dialogue_key", "scenario_key") if name in columns[table]), None)
        found = f"{key} in (select key from named)" if key else str(bool(keys))
        (number,) = rows(
            con,
            f"select count(*) filter ({found}) from core.{table} where {of_corpus(corpus_id, columns[table])}",
        )[0]
        assert entry["joinable_rows"] == number, table
        if key == "dialogue_key":
            kept = {each["column"]: each["kept"] for each in entry["columns"]}
            assert kept["dialogue_key"] == kept["corpus_id"] == number, table


@pytest.mark.parametrize("corpus_id", CORPORA)
def test_kept_values_are_in_the_examples(folder: Path, con: duckdb.DuckDBPyConnection, corpus_id: str) -> None:
    tables = tables_of(folder, corpus_id)
    for table, entry in tables.items():
        kept = {each["column"] for each in entry["columns"] if each["kept"] + each["merged"]}
        assert lacking(con, folder, corpus_id, table, kept) == set(), table


def test_column_that_is_not_kept_is_noticed(con: duckdb.DuckDBPyConnection, sample_folder: Path, once: Once) -> None:
    """A column that no example has fails the comparison, if it is said to be kept."""
    folder = once("ledger_faithful", lambda to: export(sample_folder, to, "faithful"))
    for corpus_id in CORPORA:
        assert lacking(con, folder, corpus_id, "dim_source_files", {"sha256"}) == {"sha256"}


def fates(folder: Path) -> dict[str, int]:
    """Return the sum of each fate over the utterances of all corpora."""
    utterances = [
        each
        for corpus_id in CORPORA
        for each in tables_of(folder, corpus_id)["fct_turns"]["columns"]
        if each["column"] == "utterance"
    ]
    return {fate: sum(each[fate] for each in utterances) for fate in FATES}


def test_fates_differ_by_profile(once: Once, sample_folder: Path) -> None:
    """An utterance that `alternating` joins with another one is merged; one that it leaves out can be joined."""
    faithful, alternating = (
        fates(once(f"ledger_{name}", lambda to, name=name: export(sample_folder, to, name)))
        for name in ("faithful", "alternating")
    )
    assert faithful["merged"] == 0 < alternating["merged"]
    assert alternating["joinable"] > faithful["joinable"]
    assert alternating["dropped"] > faithful["dropped"]
    assert sum(faithful.values()) == sum(alternating.values())


def test_kept_utterances_are_those_of_the_files(
    once: Once, con: duckdb.DuckDBPyConnection, sample_folder: Path
) -> None:
    """A second count, from the examples: the turns that `source` names for a text or a result."""
    folder = once("ledger_faithful", lambda to: export(sample_folder, to, "faithful"))
    with_text = {key for (key,) in rows(con, "select turn_key from core.fct_turns where utterance is not null")}
    turns = {
        key
        for of_file in exported.read(folder).values()
        for example in of_file
        for message, keys in zip(example["messages"], example["source"]["turn_keys"], strict=True)
        if "tool_calls" not in message
        for key in keys
    }
    assert fates(folder)["kept"] == len(turns & with_text)


@pytest.mark.all_corpora
def test_page_that_compares_the_forms_is_current(once: Once, sample_folder: Path, only: tuple[str, ...]) -> None:
    """`chat` and `huggingface` are one column of it, because their ledgers are equal."""
    names = dict(zip(exports_page.FORMS, ("faithful", "alternating", "preference"), strict=True))
    assert {head: EXPORTS[name] for head, name in names.items()} == {
        head: (Selection(), options) for head, options in exports_page.FORMS.items()
    }
    ledgers = {
        head: exports_page.ledger_of(once(f"ledger_{name}", lambda to, name=name: export(sample_folder, to, name)))
        if exports_page.has_examples(EXPORTS[name][1], only[1:] or CORPORA)
        else exports_page.without_files(only[1:])
        for head, name in names.items()
    }
    text = exports_page.PAGE.read_text(encoding="utf-8")
    is_current = exports_page.rewrite(text, ledgers) == text
    assert is_current, "run `python -m tests.exports_page WAREHOUSE`"
    corpus_id = (only[1:] or CORPORA)[-1]
    before, heading, table = text.partition(f"### {corpus_id}\n")
    stale = f"{before}{heading}The forms keep nothing.\n{table}"
    assert exports_page.rewrite(stale, ledgers) == text


def test_corpus_that_is_not_in_the_warehouse_keeps_its_table() -> None:
    text = exports_page.PAGE.read_text(encoding="utf-8")
    head, *others = exports_page.FORMS
    column = {"column": "utterance", "values": 2, "kept": 1, "merged": 0, "joinable": 1, "dropped": 0}
    table = {"table": "core.fct_turns", "columns": [column]}
    ledger = {"corpora": {CORPORA[0]: {"files": ["train.jsonl"], "tables": [table]}}}
    nothing = exports_page.without_files(CORPORA[:1])
    written = exports_page.rewrite(text, {head: ledger} | dict.fromkeys(others, nothing))
    assert f"### {CORPORA[0]}\nThe corpus has nothing for {others[0]}, {others[1]}.\n" in written
    assert f"| table | {head} |\n|---|---|\n| `fct_turns` | in part: `utterance` |\n" in written
    behind = f"### {CORPORA[1]}\n"
    assert written.partition(behind)[2] == text.partition(behind)[2] != ""


WRONG = {
    'why = "x"\n[fct_nothing]\nwhy = "x"': "core has no table fct_nothing",
    'why = "x"\n[fct_turns]\nwhy = "x"\nkept = [{columns = ["no"], part = "text", place = "x"}]': "fct_turns has no column no",
    'why = "x"\n[fct_turns]\nwhy = "x"\nkept = [{columns = ["role"], part = "word", place = "x"}]': "part",
    'why = "x"\n[fct_turns]\nkept = []': "why",
    "[fct_turns]": "Expected `str`",
    'why = "x"\n[fct_turns]\nwhy = "x"\nkept = [{columns = ["role"], part = "text", place = "x", match = "no = 1"}]': "fct_turns: Binder Error",
}


@pytest.fixture
def counting(sample_folder: Path) -> Iterator[Callable[[Path], object]]:
    """Return a function that counts the losses of a corpus whose folder is another one."""
    with open_core(builds.published_build(WarehousePaths(sample_folder))[1], Settings()) as con:
        con.execute(losses.EXPORTED)
        yield lambda folder: losses.count(con, replace(registry.load_corpus(CORPORA[0]), folder=folder))


@pytest.mark.parametrize("text", WRONG)
def test_wrong_declaration_is_named_in_one_line(counting: Callable[[Path], object], tmp_path: Path, text: str) -> None:
    (tmp_path / losses.MESSAGES_TOML).write_text(text, encoding="utf-8")
    with pytest.raises(registry.CorpusError) as refused:
        counting(tmp_path)
    message = str(refused.value)
    assert message.startswith(f"{CORPORA[0]}/{losses.MESSAGES_TOML}: ")
    assert WRONG[text] in message
    assert "\n" not in message


def test_without_an_example_everything_is_dropped(counting: Callable[[Path], Any]) -> None:
    tables = counting(registry.corpus_folder(CORPORA[0]))
    assert tables
    assert all(each["dropped"] == each["values"] for table in tables for each in table["columns"])
