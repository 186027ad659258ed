"""The battery: every corpus passes every check that it has the rows for, and each check's twin fails."""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import duckdb
import pytest
import yaml

from pipelines.corpora import registry
from pipelines.paths import DBT_PROJECT
from tests.contract.battery import BATTERY, Check

ENTITIES = yaml.safe_load((DBT_PROJECT / "dbt_project.yml").read_text(encoding="utf-8"))["vars"]["corpora"]
CASES = [
    pytest.param(corpus, check, id=f"{corpus}: {check.name}")
    for corpus in registry.corpus_ids()
    for check in BATTERY
    if check.needs in ENTITIES[corpus]
]
NORMALLY_EMPTY = {"accounting", "exceptions", "violations"}
ENTITY_TABLES = {
    "slot_definitions": "dim_slots",
    **{name: f"fct_{name}" for name in ("turns", "frames", "actions", "slots", "votes", "responses", "candidates")},
    **{name: f"fct_{name}" for name in ("classifier_examples", "service_calls", "service_results", "knowledge_items")},
}


@pytest.fixture(scope="module")
def sample(sample_warehouse: Path) -> Iterator[duckdb.DuckDBPyConnection]:
    with duckdb.connect(str(sample_warehouse), read_only=True) as con:
        yield con


@pytest.fixture(scope="module")
def copies(sample_warehouse: Path) -> dict[str, duckdb.DuckDBPyConnection]:
    """For each corpus a database in memory with its own rows of each table: what the twins change."""
    made = {}
    for corpus in registry.corpus_ids():
        con = duckdb.connect()
        con.execute(f"attach '{sample_warehouse}' as sample (read_only)")
        for schema, table in con.execute(
            "select schema_name, table_name from duckdb_tables() where database_name = 'sample'"
        ).fetchall():
            columns = [row[0] for row in con.execute(f"describe sample.{schema}.{table}").fetchall()]
            narrowed = f"where corpus_id = '{corpus}'" if "corpus_id" in columns else ""
            con.execute(f"create schema if not exists {schema}")
            con.execute(f"create table {schema}.{table} as select * from sample.{schema}.{table} {narrowed}")
        made[corpus] = con
    return made


@pytest.mark.parametrize(("corpus", "check"), CASES)
def test_corpus_passes(sample: duckdb.DuckDBPyConnection, corpus: str, check: Check) -> None:
    assert sample.execute(check.breaks.format(corpus=corpus)).fetchmany(3) == []


@pytest.mark.parametrize(("corpus", "check"), CASES)
def test_twin_fails(copies: dict[str, duckdb.DuckDBPyConnection], corpus: str, check: Check) -> None:
    con = copies[corpus]
    con.execute("begin")
    try:
        changed = con.execute(check.twin).fetchall()
        if changed == [(0,)]:
            pytest.skip(f"the sample of {corpus} has no row that the twin could change")
        assert con.execute(check.breaks.format(corpus=corpus)).fetchmany(1) != []
    finally:
        con.execute("rollback")


@pytest.mark.parametrize(
    ("corpus", "entity"),
    [(corpus, entity) for corpus, entities in ENTITIES.items() for entity in entities if entity not in NORMALLY_EMPTY],
)
def test_sample_fills_every_table_that_the_corpus_has(
    sample: duckdb.DuckDBPyConnection, corpus: str, entity: str
) -> None:
    table = ENTITY_TABLES.get(entity, f"dim_{entity}")
    assert sample.execute(f"select count(*) > 0 from core.{table} where corpus_id = '{corpus}'").fetchall() == [(True,)]


COUNTED_AS = {
    "slots": {"spans", "annotations", "state_values", "action_values", "selected_values"},
    "agents": {"agent_descriptions"},
}
NOT_COUNTED = {"accounting", "exceptions", "pointer_forms", "key_pointers", "violations"}


@pytest.mark.parametrize("corpus", registry.corpus_ids())
def test_every_entity_of_a_corpus_is_accounted_for(sample: duckdb.DuckDBPyConnection, corpus: str) -> None:
    rows = sample.execute("select entity from quality.row_accounting where corpus_id = ?", [corpus]).fetchall()
    counted = {entity for (entity,) in rows}
    derived = {("bbai", "intents"), ("sgd", "acts"), ("mutualfriends", "acts")}  # no list of them is published
    for entity in ENTITIES[corpus]:
        if entity not in NOT_COUNTED and (corpus, entity) not in derived:
            assert counted & COUNTED_AS.get(entity, {entity}), entity


@pytest.mark.parametrize("corpus", registry.corpus_ids())
def test_record_pointer_leads_back_to_the_record(
    sample: duckdb.DuckDBPyConnection, sample_folder: Path, corpus: str
) -> None:
    found = sample.execute(
        "select source_file_id, record_pointer, dialogue_id from core.dim_dialogues where corpus_id = ?", [corpus]
    ).fetchall()
    files: dict[str, Any] = {}
    for source_file_id, pointer, dialogue_id in found:
        if source_file_id not in files:
            content = (sample_folder / "sample" / source_file_id).read_bytes()
            files[source_file_id] = json.loads(gzip.decompress(content) if source_file_id.endswith(".gz") else content)
        record: Any = files[source_file_id]
        for token in pointer.split("/")[1:]:
            key = token.replace("~1", "/").replace("~0", "~")
            record = record[int(key)] if isinstance(record, list) else record[key]
        native = [str(value) for value in record.values() if isinstance(value, str | int)]
        assert dialogue_id in native or pointer == "/" + dialogue_id.replace("~", "~0").replace("/", "~1")
    assert len(found) > 5


def test_keys_are_distinct_across_all_tables(sample: duckdb.DuckDBPyConnection) -> None:
    keys = own_keys(sample)
    assert len(keys) >= 15
    union = " union all ".join(f"select {key} as key from core.{table}" for table, key in keys)
    assert sample.execute(f"select key from ({union}) group by key having count(*) > 1 limit 3").fetchall() == []


def own_keys(con: duckdb.DuckDBPyConnection) -> list[tuple[str, str]]:
    """Tables with the column that is their own key: the first column, when its name says so."""
    columns = con.execute(
        "select table_name, column_name from duckdb_columns() where schema_name = 'core' and column_index = 1"
    ).fetchall()
    borrowed = {"scenario_key"} | {"dialogue_key"} | {"intent_key"} | {"guideline_key"}
    own = {"dim_dialogues", "dim_intents", "dim_guidelines"}
    return [(table, key) for table, key in columns if key.endswith("_key") and (key not in borrowed or table in own)]
