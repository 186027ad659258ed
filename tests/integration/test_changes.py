"""Differences between two builds are found by key, in rows, columns, verdicts and counts; equal builds have none."""

from __future__ import annotations

import json
import shutil
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import duckdb
import msgspec
import pytest
import yaml

from dialogue_warehouse.errors import BuildError, InputError, counted
from dialogue_warehouse.paths import DBT_PROJECT, WarehousePaths
from dialogue_warehouse.reading import changes, descriptions
from dialogue_warehouse.reading.changes import COMPARED, Moved, RowChange, find_changes
from dialogue_warehouse.settings import Settings
from dialogue_warehouse.storage import builds, retention
from pipelines.building import history
from pipelines.building.state import Build
from tests.conftest import run_command

OTHER = "20991231T235959000000Z"
"""Build that comes after the build of the fixture."""


@pytest.fixture
def paths(tmp_path: Path, awkward_folder: Path) -> WarehousePaths:
    """Return a warehouse with a published build, and the same build published again under another name."""
    paths = WarehousePaths(shutil.copytree(awkward_folder, tmp_path / "warehouse"))
    published, database = builds.published_build(paths)
    shutil.copy(database, paths.build_database(OTHER))
    paths.build_database(OTHER).chmod(0o644)
    manifest = json.loads(paths.build_manifest(published).read_text()) | {"build_id": OTHER, "number": 2}
    paths.build_manifest(OTHER).write_text(json.dumps(manifest))
    return paths


def alter(paths: WarehousePaths, *statements: str) -> None:
    """Change the second build."""
    with duckdb.connect(str(paths.build_database(OTHER))) as con:
        for statement in statements:
            con.execute(statement)


def first_keys(paths: WarehousePaths, count: int) -> list[str]:
    with duckdb.connect(str(paths.build_database(OTHER)), read_only=True) as con:
        keys = con.execute("select turn_key from core.fct_turns where corpus_id = 'sgd' order by 1").fetchmany(count)
    return [key for (key,) in keys]


def test_builds_of_the_same_rows_do_not_differ(paths: WarehousePaths) -> None:
    before = builds.published_build(paths)[0]
    found = find_changes(paths, before, OTHER, Settings())
    assert (found.columns, found.rows, found.moved) == ((), (), ())


def test_rows_are_added_removed_and_changed_by_key(paths: WarehousePaths) -> None:
    before = builds.published_build(paths)[0]
    gone, other, *_ = keys = first_keys(paths, 5)
    alter(
        paths,
        f"delete from core.fct_turns where turn_key = '{gone}'",
        f"update core.fct_turns set utterance = coalesce(utterance, '') || '!' where turn_key = '{other}'",
        f"insert into core.fct_turns select * replace (turn_key || 'x' as turn_key) from core.fct_turns "
        f"where turn_key in ({', '.join(repr(key) for key in keys[1:])})",
        "update core.dim_intent_slots set default_value = 'another' where position = 0 and requirement = 'optional'",
    )
    found = find_changes(paths, before, OTHER, Settings())
    turns = [change for change in found.rows if change.table_name == "core.fct_turns"]
    assert turns == [
        RowChange("core.fct_turns", "sgd", "added", 4, tuple(sorted(f"{key}x" for key in keys[1:])[:3])),
        RowChange("core.fct_turns", "sgd", "changed", 1, (other,)),
        RowChange("core.fct_turns", "sgd", "removed", 1, (gone,)),
    ]
    (slots,) = [change for change in found.rows if change.table_name != "core.fct_turns"]
    assert (slots.table_name, slots.corpus_id, slots.change) == ("core.dim_intent_slots", "sgd", "changed")
    assert ", optional, 0" in slots.first_keys[0]
    back = find_changes(paths, OTHER, before, Settings())
    assert [(change.change, change.row_count) for change in back.rows if change.table_name == "core.fct_turns"] == [
        ("added", 1),
        ("changed", 1),
        ("removed", 4),
    ]


def test_rows_whose_keys_have_the_same_words_are_distinguished(paths: WarehousePaths) -> None:
    before = builds.published_build(paths)[0]
    table, keys = "analytics.act_pairs", [("a, b", "c", 1), ("a", "b, c", 2), ("NULL", "d", 3), (None, "d", 4)]
    columns = "corpus_id varchar, split varchar, role varchar, act varchar, other_act varchar, pair_count integer"
    for build_id in (before, OTHER):
        paths.build_database(build_id).chmod(0o644)
        with duckdb.connect(str(paths.build_database(build_id))) as con:
            con.execute(f"create or replace table {table} ({columns})")
            con.executemany(f"insert into {table} values ('c', 'train', 'user', ?, ?, ?)", keys)
    assert [
        change for change in find_changes(paths, before, OTHER, Settings()).rows if change.table_name == table
    ] == []


def test_change_of_a_list_alone_is_found(paths: WarehousePaths) -> None:
    """Regression: DuckDB's hash of an empty list is that of NULL, so `diff` found nothing."""
    before = builds.published_build(paths)[0]
    alter(paths, "update core.fct_frames set requested_slots = null where requested_slots = []")
    (found,) = find_changes(paths, before, OTHER, Settings()).rows
    assert (found.table_name, found.change) == ("core.fct_frames", "changed")


def test_changed_columns_verdicts_and_counts_are_reported(paths: WarehousePaths) -> None:
    before = builds.published_build(paths)[0]
    with duckdb.connect(str(paths.build_database(OTHER)), read_only=True) as con:
        claim, corpus_id, verdict = con.execute(
            "select claim_id, corpus_id, verdict from quality.claim_checks where observed is null order by 1 limit 1"
        ).fetchall()[0]
    alter(
        paths,
        "alter table core.fct_frames add column mood varchar",
        "alter table core.fct_frames drop column requested_slots",
        "alter table core.dim_dialogues alter column turn_count type bigint",
        "drop table analytics.vote_consensus",
        "create table analytics.brand_new as select 1 as one",
        f"update quality.claim_checks set verdict = 'refuted' where claim_id = '{claim}'",
        "insert into quality.violations select * from quality.violations where rule_id = (select min(rule_id) from quality.violations)",
    )
    found = find_changes(paths, before, OTHER, Settings())
    assert set(found.columns) == {
        "analytics.brand_new is new",
        "analytics.vote_consensus is removed",
        "core.dim_dialogues.turn_count is BIGINT, before INTEGER",
        "core.fct_frames.mood is new, VARCHAR",
        "core.fct_frames.requested_slots is removed",
    }
    assert found.rows == ()
    assert Moved("claim", claim, corpus_id, verdict, "refuted") in found.moved
    rules = [one for one in found.moved if one.kind == "rule"]
    assert len({rule.name for rule in rules}) == 1
    assert all(int(rule.after or 0) == 2 * int(rule.before or 0) > 0 for rule in rules)
    assert found.summary() == f"1 claim changed, {counted(len(rules), 'rule')} changed, 5 schema changes"


@pytest.fixture
def built(paths: WarehousePaths) -> Build:
    """Return a build in the scratch folder that has passed and equals the published one."""
    paths.scratch_audit.mkdir(parents=True, exist_ok=True)
    shutil.copy(builds.published_build(paths)[1], paths.scratch_database)
    paths.scratch_database.chmod(0o644)
    (paths.scratch_audit / "claim_checks").mkdir()
    (paths.scratch_audit / "build_changes").mkdir()
    with duckdb.connect(str(paths.scratch_database)) as con:
        con.execute(f"copy quality.claim_checks to '{paths.scratch_audit}/claim_checks/results.parquet'")
        con.execute("drop table quality.claim_checks")
    return Build(OTHER, "run", datetime(2099, 12, 31, tzinfo=UTC), "source", ())


def kept_changes(paths: WarehousePaths) -> list[tuple[Any, ...]]:
    """Return the changes that dbt would load for this build."""
    return duckdb.sql(f"from '{paths.scratch_audit}/build_changes/results.parquet'").fetchall()


def test_changes_are_found_before_a_build_is_published(paths: WarehousePaths, built: Build) -> None:
    before = builds.published_build(paths)[0]
    found = history.find_changes(built, paths, Settings())
    assert found is not None
    assert found.summary() == "nothing differs"
    assert kept_changes(paths) == []
    with duckdb.connect(str(paths.scratch_database)) as con:
        con.execute("delete from core.fct_votes")
        con.execute("alter table core.fct_frames drop column requested_slots")
    history.find_changes(built, paths, Settings())
    rows = kept_changes(paths)
    assert all(row[:2] == (OTHER, before) for row in rows)
    (votes,) = [row[2:] for row in rows if row[3] == "core.fct_votes"]
    assert votes[:4] == ("row", "core.fct_votes", "bbai", "removed")
    assert votes[4] > 3 == len(votes[5])
    assert ("column", None, None, "changed", 1, ["core.fct_frames.requested_slots is removed"], None, None) in [
        row[2:] for row in rows
    ]


def test_all_changed_claims_and_rules_are_kept_with_their_earlier_state(paths: WarehousePaths, built: Build) -> None:
    """All of them, not only the first: there are few of them, and a reader needs to know which ones."""
    verdicts = f"{paths.scratch_audit}/claim_checks/results.parquet"
    with duckdb.connect() as con:
        con.execute(f"create table checks as from '{verdicts}'")
        claims = con.execute(
            "update checks set verdict = 'refuted', observed = '7' where corpus_id = 'sgd' and verdict = 'not_checkable' "
            "and observed is null returning claim_id"
        ).fetchall()
        con.execute(f"copy checks to '{verdicts}'")
    with duckdb.connect(str(paths.scratch_database)) as con:
        query = "select rule_id, count(*) from quality.violations where corpus_id = 'sgd' group by 1 order by 1 limit 1"
        rule, cases = con.execute(query).fetchall()[0]
        con.execute("delete from quality.violations where rule_id = ? and corpus_id = 'sgd'", [rule])
    history.find_changes(built, paths, Settings())
    moved = {row[2]: row for row in kept_changes(paths)}
    assert moved.keys() == {"claim", "rule"}
    assert moved["claim"][3:7] == ("quality.claim_checks", "sgd", "changed", len(claims))
    assert moved["claim"][7] == sorted(claim_id for (claim_id,) in claims)
    assert len(claims) > 3
    assert set(moved["claim"][8]) == {"not_checkable"}
    assert set(moved["claim"][9]) == {"refuted: 7"}
    assert moved["rule"][3:] == ("quality.violations", "sgd", "changed", 1, [rule], [str(cases)], ["0"])


def test_records_of_an_earlier_version_are_read_with_fewer_columns(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    sources = yaml.safe_load((DBT_PROJECT / "models/marts/quality/_audit__sources.yml").read_text(encoding="utf-8"))
    (table,) = [table for table in sources["sources"][0]["tables"] if table["name"] == "build_changes"]
    monkeypatch.chdir(tmp_path)
    Path("audit/build_changes").mkdir(parents=True)
    duckdb.sql("copy (select 'old' as build_id) to 'audit/build_changes/history.parquet'")
    duckdb.sql("copy (select 'new' as build_id, ['1'] as first_before) to 'audit/build_changes/results.parquet'")
    location = table["meta"]["external_location"].format(name="build_changes")
    found = duckdb.sql(f"select build_id, first_before from {location} order by all").fetchall()
    assert found == [("new", ["1"]), ("old", None)]


def test_recorded_changes_are_found_by_their_base_build(paths: WarehousePaths, built: Build) -> None:
    """A manifest of an earlier version names that build only in a sentence, which is not read."""
    before = builds.published_build(paths)[0]
    tables = ("core.dim_agents", "core.fct_knowledge_items", "core.fct_responses", "core.fct_votes")
    verdicts = f"{paths.scratch_audit}/claim_checks/results.parquet"
    with duckdb.connect(str(paths.scratch_database)) as con:
        for table in tables:
            con.execute(f"delete from {table}")
        con.execute("delete from quality.violations where corpus_id in ('abcd', 'sgd')")
        con.execute(f"create temp table checks as from '{verdicts}' order by corpus_id, claim_id offset 1")
        last = "select max(claim_id) from checks where corpus_id = 'abcd'"
        con.execute(f"update checks set verdict = 'refuted', observed = '7' where claim_id = ({last})")
        con.execute(f"copy checks to '{verdicts}'")
    expected = history.find_changes(built, paths, Settings())
    assert expected is not None
    assert [row.table_name for row in expected.rows] == list(tables)
    assert len({(one.kind, one.corpus_id, one.after is None) for one in expected.moved}) == 4
    recorded = f"{paths.scratch_audit}/build_changes/results.parquet"
    manifest = builds.read_manifest(paths, OTHER)
    for named, against, found in (
        (before, before, expected),
        (None, before, expected),
        (before, OTHER, None),
        (None, OTHER, None),
    ):
        alter(paths, f"insert into quality.build_changes by name from '{recorded}'")
        text = builds.encode_manifest(msgspec.structs.replace(manifest, base_build_id=named, changed="in other words"))
        paths.build_manifest(OTHER).write_bytes(text)
        assert changes.read(paths, against, OTHER, Settings()) == found
        alter(paths, "delete from quality.build_changes")
        same = changes.read(paths, before, OTHER, Settings())
        assert (same is None) == (named is None)  # it may have been compared with a different build
        assert same is None or same.summary() == "nothing differs"


def test_build_that_cannot_be_compared_is_not_published(paths: WarehousePaths, built: Build) -> None:
    before, database = builds.published_build(paths)
    database.chmod(0o644)
    with duckdb.connect(str(database)) as con:
        con.execute("drop table quality.violations cascade")
    with pytest.raises(BuildError, match=f"the new tables cannot be compared with build {before}: ") as raised:
        history.find_changes(built, paths, Settings())
    assert len(str(raised.value).splitlines()) == 1


def test_without_a_readable_earlier_build_there_are_no_changes(paths: WarehousePaths, built: Build) -> None:
    database = builds.published_build(paths)[1]
    database.chmod(0o644)
    database.write_bytes(b"no database")
    assert history.find_changes(built, paths, Settings()) is None
    paths.pointer.unlink()
    assert history.find_changes(built, paths, Settings()) is None
    assert kept_changes(paths) == []


def test_table_without_its_key_is_compared_by_the_common_columns(paths: WarehousePaths) -> None:
    before = builds.published_build(paths)[0]
    alter(
        paths,
        "alter table core.fct_frames drop column frame_key",
        "update core.fct_frames set service = 'other' where frame_index = 0 and turn_index = 0",
    )
    found = find_changes(paths, before, OTHER, Settings())
    assert {change.change for change in found.rows} == {"added", "removed"}


def test_every_compared_table_has_a_declared_key(awkward_warehouse: duckdb.DuckDBPyConnection) -> None:
    tables = awkward_warehouse.execute(
        "select schema_name || '.' || table_name from duckdb_tables() where list_contains(?, schema_name)",
        [list(COMPARED)],
    ).fetchall()
    keyed = {name for name, links in descriptions.links().items() if links.key and name.partition(".")[0] in COMPARED}
    assert {name for (name,) in tables} == keyed


def test_unreadable_build_is_reported_in_one_line(paths: WarehousePaths) -> None:
    before = builds.published_build(paths)[0]
    paths.build_database(OTHER).write_bytes(b"no database")
    with pytest.raises(InputError) as refused:
        find_changes(paths, before, OTHER, Settings())
    assert str(refused.value).startswith(f"{paths.build_database(OTHER)} cannot be opened: ")
    assert "\n" not in str(refused.value)


def test_command_compares_the_published_build_with_the_one_before(paths: WarehousePaths) -> None:
    published = builds.published_build(paths)[0]
    alone = run_command("diff", "--warehouse", paths.root)
    assert (alone.returncode, alone.stderr) == (
        2,
        f"error: build {published} is the oldest of the kept builds, so there is none before it\n",
    )
    (gone,) = first_keys(paths, 1)
    alter(paths, f"delete from core.fct_turns where turn_key = '{gone}'")
    assert retention.kept_builds(paths) == [published, OTHER]
    shown = run_command("diff", published, OTHER, "--warehouse", paths.root)
    assert (shown.returncode, shown.stderr) == (0, "")
    assert shown.stdout.startswith(f"build {OTHER}, against {published}\n")
    assert [line.split() for line in shown.stdout.splitlines() if "removed" in line] == [
        ["core.fct_turns", "sgd", "removed", "1", gone]
    ]
    same = run_command("diff", published, published, "--warehouse", paths.root)
    assert same.stdout == f"build {published}, against {published}\nnothing differs\n"
    (row,) = json.loads(run_command("diff", published, OTHER, "--json", "--warehouse", paths.root).stdout)["rows"]
    assert row == {
        "table_name": "core.fct_turns",
        "corpus_id": "sgd",
        "change": "removed",
        "row_count": 1,
        "first_keys": [gone],
    }
