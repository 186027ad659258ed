"""Battery: the declarations about the shared tables are true for every corpus, and each of them detects a violation."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, get_args, get_type_hints

import duckdb
import pytest

from dialogue_warehouse.corpora import registry
from dialogue_warehouse.corpora.claims import Claim, Severity
from dialogue_warehouse.lineage.restored_files import EXCEPTION_FORMS
from expectations.verdicts import Verdict
from tests.contract.battery import (
    DERIVED,
    ENTITIES,
    EVERY_CORPUS,
    STAGED,
    VOCABULARIES,
    Change,
    Rule,
    Table,
    read_rules,
    read_tables,
)
from tests.dbt_runs import compiled
from tests.released import read_file

TABLES = read_tables()
BY_NAME = {table.name: table for table in TABLES}
BOOKKEEPING = {"accounting", "exceptions", "pointer_forms", "key_pointers", "rules"}
"""Entities of a corpus that are not published as tables."""
NORMALLY_EMPTY = {"exceptions"}


def corpora_of(table: Table | None) -> list[str]:
    """Return the corpora that have rows in a table, one by one, or all together if the table is not stacked."""
    if table is None or table.entity is None:
        return [EVERY_CORPUS]
    return [corpus for corpus in registry.corpus_ids() if table.entity in ENTITIES[corpus]]


def judged_on(rule: Rule) -> list[str]:
    """Return the corpora that a rule is tested on: those with rows for it, or all if its table is not stacked."""
    table = BY_NAME.get(rule.table or "")
    return corpora_of(table) if table and table.entity else list(registry.corpus_ids())


ALL_TABLES = [
    pytest.param(corpus, table, id=f"{corpus}: {table.name}") for table in TABLES for corpus in corpora_of(table)
]
UNSOUND = [
    pytest.param(corpus, table, change, id=f"{corpus}: {table.name}: {change.name}")
    for table in TABLES
    for corpus in corpora_of(table)
    for change in table.unsound()
]
REFUSED = [
    pytest.param(corpus, table, change, id=f"{corpus}: {table.name}: {change.name}")
    for table in TABLES
    for corpus in corpora_of(table)
    for change in table.refused()
]
RULES = [pytest.param(corpus, rule, id=f"{corpus}: {rule.name}") for rule in read_rules() for corpus in judged_on(rule)]


@pytest.fixture(scope="module")
def sample(sample_warehouse: Path) -> Iterator[duckdb.DuckDBPyConnection]:
    with duckdb.connect(str(sample_warehouse), read_only=True) as con:
        yield con


@pytest.fixture(scope="module")
def target(sample_folder: Path) -> Path:
    """Return the folder in which dbt left the compiled project when it built the sample."""
    return sample_folder / ".scratch" / "dbt_target"


@pytest.fixture(scope="module")
def by_dbt(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """Return the SQL that dbt compiles for each of its tests."""
    return compiled(tmp_path_factory.mktemp("battery"), "resource_type:test")


@pytest.fixture(scope="module")
def copies(sample_warehouse: Path) -> dict[str, duckdb.DuckDBPyConnection]:
    """Return in-memory databases, one per corpus and one for all, with their rows under the published contracts."""
    made = {}
    for corpus in (*registry.corpus_ids(), EVERY_CORPUS):
        con = duckdb.connect()
        con.execute(f"attach '{sample_warehouse}' as sample (read_only); attach ':memory:' as dialogues; use dialogues")
        for schema, table, definition in con.execute(
            "select schema_name, table_name, sql from duckdb_tables() where database_name = 'sample'"
        ).fetchall():
            columns = [row[0] for row in con.execute(f"describe sample.{schema}.{table}").fetchall()]
            is_narrowed = corpus != EVERY_CORPUS and "corpus_id" in columns
            narrowed = f"where corpus_id = '{corpus}'" if is_narrowed else ""
            con.execute(f"create schema if not exists {schema}")
            con.execute(definition)
            con.execute(f"insert into {schema}.{table} select * from sample.{schema}.{table} {narrowed}")
        made[corpus] = con
    return made


@contextmanager
def undone(con: duckdb.DuckDBPyConnection) -> Iterator[None]:
    """Undo the changes made inside the context."""
    con.execute("begin")
    try:
        yield
    finally:
        con.execute("rollback")


def fill(con: duckdb.DuckDBPyConnection, table: Table) -> None:
    """Give the table a row if it has none."""
    if con.execute(f"select 1 from {table.name} limit 1").fetchone() is None:
        con.execute(table.filler)


@pytest.mark.parametrize(("corpus", "table"), ALL_TABLES)
def test_table_is_sound(copies: dict[str, Any], by_dbt: dict[str, str], corpus: str, table: Table) -> None:
    assert copies[corpus].execute(table.compiled(by_dbt)).fetchmany(3) == []


@pytest.mark.parametrize(("corpus", "table", "change"), UNSOUND)
def test_unsound_row_is_named(
    copies: dict[str, Any], by_dbt: dict[str, str], corpus: str, table: Table, change: Change
) -> None:
    con = copies[corpus]
    with undone(con):
        fill(con, table)
        assert con.execute(change.statement).fetchall() == [(1,)]
        noticed = con.execute(table.compiled(by_dbt)).fetchall()
    assert change.noticed in {row[:2] for row in noticed}


@pytest.mark.parametrize(("corpus", "table", "change"), REFUSED)
def test_missing_value_is_refused(copies: dict[str, Any], corpus: str, table: Table, change: Change) -> None:
    con = copies[corpus]
    with undone(con):
        fill(con, table)
        with pytest.raises(duckdb.ConstraintException) as refusal:
            con.execute(change.statement)
    refused = str(refusal.value).replace('"', "")
    assert all(words in refused for words in change.noticed)


@pytest.mark.parametrize(("corpus", "rule"), RULES)
def test_rule_holds_and_its_twin_breaks_it(
    copies: dict[str, Any], by_dbt: dict[str, str], corpus: str, rule: Rule
) -> None:
    con, query = copies[corpus], rule.compiled(by_dbt)
    assert con.execute(query).fetchmany(3) == []
    assert rule.twin, f"shared_twins.toml has no twin of {rule.name}"
    with undone(con):
        assert con.execute(rule.twin).fetchall() != [(0,)], (
            f"the sample of {corpus} has no row that the twin could change"
        )
        assert con.execute(query).fetchmany(1) != []


def test_every_vocabulary_belongs_to_a_column() -> None:
    known = {name for table in TABLES for column in table.types for name in (column, f"{table.short_name}.{column}")}
    assert set(VOCABULARIES) - known == set()


@pytest.mark.parametrize(
    ("vocabulary", "written"),
    [
        ("form", tuple(EXCEPTION_FORMS)),
        ("verdict", get_args(Verdict)),
        ("severity", get_args(Severity)),
        ("claims.kind", get_args(get_type_hints(Claim)["kind"])),
    ],
)
def test_words_that_the_code_writes_are_declared(vocabulary: str, written: tuple[str, ...]) -> None:
    assert VOCABULARIES[vocabulary] == list(written)


def test_every_test_of_dbt_blocks(target: Path) -> None:
    nodes = json.loads((target / "manifest.json").read_text(encoding="utf-8"))["nodes"].values()
    tests = {node["name"]: node["config"] for node in nodes if node["resource_type"] == "test"}
    assert len(tests) >= len(TABLES)
    assert [
        name
        for name, config in tests.items()
        if (config["severity"].upper(), config["error_if"], config["where"], config["enabled"])
        != ("ERROR", "!= 0", None, True)
    ] == []


def test_every_entity_has_a_table() -> None:
    stacked = {table.entity for table in TABLES}
    assert {entity for entities in ENTITIES.values() for entity in entities} - stacked == {"accounting", "rules"}


@pytest.mark.parametrize(
    ("corpus", "table"),
    [
        pytest.param(corpus, table, id=f"{corpus}: {table.name}")
        for table in TABLES
        for corpus in corpora_of(table)
        if table.entity and table.entity not in NORMALLY_EMPTY
    ],
)
def test_sample_fills_every_table_that_the_corpus_has(copies: dict[str, Any], corpus: str, table: Table) -> None:
    assert copies[corpus].execute(f"select count(*) > 0 from {table.name}").fetchall() == [(True,)]


@pytest.mark.parametrize("corpus", registry.corpus_ids())
def test_every_entity_of_a_corpus_is_accounted_for(target: Path, corpus: str) -> None:
    nodes = json.loads((target / "manifest.json").read_text(encoding="utf-8"))["nodes"]
    accounting = next(node for node in nodes.values() if node["name"] == f"int_{corpus}__accounting")
    read = [name.rpartition(".")[2] for name in accounting["depends_on"]["nodes"]]
    stacked = [f"int_{corpus}__", *(f"stg_{corpus}__{entity}" for entity in STAGED.get(corpus, []))]
    counted = {name.rpartition("__")[2] for name in read if name.startswith(tuple(stacked))}
    derived = set(DERIVED.get(corpus, []))
    assert derived <= set(ENTITIES[corpus])
    assert counted & derived == set()
    assert set(ENTITIES[corpus]) - BOOKKEEPING - derived <= counted


@pytest.mark.parametrize("corpus", registry.corpus_ids())
def test_every_row_of_a_counted_table_is_counted(sample: duckdb.DuckDBPyConnection, target: Path, corpus: str) -> None:
    """An entity may count a part of a table; a row that no entity counts could be lost without a difference."""
    nodes = json.loads((target / "manifest.json").read_text(encoding="utf-8"))["nodes"].values()
    accounting = next(node for node in nodes if node["name"] == f"int_{corpus}__accounting")
    conditions: dict[str, list[str]] = {}
    for place in accounting["config"]["meta"]["stands_in_core"].values():
        conditions.setdefault(place["table"], []).append(f"({place['where']})")
    left_out = {
        table: sample.execute(
            f"select count(*) from core.{table} where corpus_id = ? and ({' or '.join(counted)}) is not true", [corpus]
        ).fetchone()
        for table, counted in conditions.items()
    }
    found = {table: rows for table, rows in left_out.items() if rows != (0,)}
    assert found == {}, f"rows of core that no entity of int_{corpus}__accounting counts"


@pytest.mark.parametrize("corpus", registry.corpus_ids())
def test_accounting_counts_rows(sample: duckdb.DuckDBPyConnection, corpus: str) -> None:
    rows = sample.execute("select published from quality.row_accounting where corpus_id = ?", [corpus]).fetchall()
    assert rows
    assert min(rows) > (0,)


@pytest.mark.parametrize("corpus", registry.corpus_ids())
def test_record_pointer_leads_back_to_the_record(
    sample: duckdb.DuckDBPyConnection, sample_folder: Path, corpus: str
) -> None:
    found = sample.execute(
        "select source_file_id, record_pointer, dialogue_id from core.dim_dialogues where corpus_id = ?", [corpus]
    ).fetchall()
    files: dict[str, Any] = {}
    parts: dict[str, str | None] = {}
    for source_file_id, pointer, dialogue_id in found:
        if source_file_id not in files:
            path = source_file_id.removeprefix(f"{corpus}/")
            entity = registry.load_corpus(corpus).entity_of(path)
            parts[source_file_id] = entity.source_part(path) if entity else None
            files[source_file_id] = read_file(sample_folder / "sample" / corpus, corpus, path)
        record: Any = files[source_file_id]
        for token in pointer.split("/")[1:]:
            key = token.replace("~1", "/").replace("~0", "~")
            record = record[int(key)] if isinstance(record, list) else record[key]
        values = record.values() if isinstance(record, dict) else ()
        native = [str(value) for value in values if isinstance(value, str | int)]
        native.append(parts[source_file_id])  # a file that is one dialogue has its id as the name
        assert dialogue_id in native or pointer.endswith("/" + dialogue_id.replace("~", "~0").replace("/", "~1"))
    assert found


def test_keys_are_distinct_across_all_tables(sample: duckdb.DuckDBPyConnection) -> None:
    keys = [(table.name, table.own_key) for table in TABLES if table.own_key]
    assert len(keys) >= 15
    union = " union all ".join(f"select {key} as key from {table}" for table, key in keys)
    assert sample.execute(f"select key from ({union}) group by key having count(*) > 1 limit 3").fetchall() == []
