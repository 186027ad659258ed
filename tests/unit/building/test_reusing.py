"""Reuse of parts of the published build, decided from definitions alone."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from dialogue_warehouse.corpora import registry
from dialogue_warehouse.paths import CLONE, WarehousePaths
from dialogue_warehouse.settings import Settings
from dialogue_warehouse.storage.builds import BuildManifest
from pipelines.building import fingerprint, reusing, state
from pipelines.building.reusing import Project, Reuse
from pipelines.ingestion import raw_layer

READS = {
    "stg_words": [],
    "int_turns": ["stg_words"],
    "int_acts": ["stg_words"],
    "fct_turns": ["int_turns"],
    "fct_acts": ["int_acts"],
    "rules": ["fct_turns"],
    "violations": ["rules"],
    "overview": ["violations", "fct_acts"],
    "builds": [],
    "keys_of_turns": ["fct_turns"],
    "keys_of_acts": ["fct_acts"],
    "lengths": ["stg_words"],
}
"""A small project: the inputs of each model and test. `stg_words` and `rules` are scratch tables, `int_*` are inlined.
"""
TESTS = {"keys_of_turns", "keys_of_acts", "lengths"}
SCHEMAS = {"stg_words": "staging", "int_turns": "intermediate", "int_acts": "intermediate", "rules": "rules"}


def written(location: str = "words/*.parquet", **said: str) -> dict[str, Any]:
    """Return the manifest of the small project, with the given location of its source and definitions of models."""
    nodes = {
        name: {
            "resource_type": "test" if name in TESTS else "model",
            "name": name,
            "alias": name,
            "schema": SCHEMAS.get(name, "core"),
            "fqn": ["warehouse", name],
            "tags": ["audit"] if name == "builds" else [],
            "config": {"materialized": "ephemeral" if name.startswith("int_") else "table"},
            "raw_code": said.get(name, f"select {name}"),
            "created_at": id(said),
        }
        for name in READS
    }
    return {
        "nodes": nodes,
        "sources": {"source.raw.words": {"meta": {"external_location": location}, "created_at": id(said)}},
        "parent_map": {name: reads or ["source.raw.words"] for name, reads in READS.items()},
    }


def published(inputs: str = "files") -> BuildManifest:
    """Return an unchanged published build of the small project."""
    now = Reuse(Project(written()), inputs, None).now
    return BuildManifest(build_id="before", started_at="", source="", raw={}, definitions=now)


def changed(**said: str) -> Reuse:
    return Reuse(Project(written(**said)), "files", published())


def test_nothing_runs_again_if_nothing_has_changed() -> None:
    reuse = changed()
    assert reuse.left() == set() and "core.fct_turns" in reuse.reused()


def test_everything_runs_if_a_common_input_has_changed() -> None:
    reuse = Reuse(Project(written()), "other files", published())
    assert reuse.left() == {"fct_turns", "fct_acts", "violations", "overview", *TESTS} and reuse.reused() == []


def test_models_of_the_audit_are_left_out() -> None:
    assert "builds" not in changed().now.digests


def test_readers_of_a_changed_table_wait_for_it() -> None:
    reuse = changed(fct_turns="select it otherwise")
    assert reuse.ready() == {"fct_turns"}
    assert reuse.left() == {"fct_turns", "keys_of_turns", "violations", "overview"}
    assert reuse.project.read_from_scratch(reuse.ready()) == {"stg_words"}


def test_readers_of_a_table_are_reused_if_its_rows_are_the_same() -> None:
    reuse = changed(fct_turns="select it otherwise")
    reuse.note(reuse.ready(), same={"fct_turns"})
    assert reuse.left() == set()
    assert reuse.reused() == ["core.fct_acts", "core.fct_turns", "core.overview", "core.violations"]


def test_readers_of_a_table_run_if_its_rows_differ() -> None:
    reuse = changed(fct_turns="select other rows")
    reuse.note(reuse.ready(), same=set())
    assert reuse.left() == {"keys_of_turns", "violations", "overview"}
    assert reuse.project.read_from_scratch(reuse.left()) == {"rules"}
    reuse.note(reuse.left(), same=set())
    assert reuse.left() == set() and reuse.reused() == ["core.fct_acts"]


def test_change_of_an_inlined_model_reaches_the_tables_that_read_it() -> None:
    assert changed(int_acts="select others").ready() == {"fct_acts"}
    assert changed(stg_words="select others").ready() == {"fct_turns", "fct_acts", "lengths"}
    assert changed(rules="select others").ready() == {"violations"}


def test_change_of_a_source_reaches_the_tables_that_read_it() -> None:
    """Regression: its YAML was part of no definition, so all tables were reused with the rows of the old files."""
    assert changed(location="words/*/*.parquet").ready() == {"fct_turns", "fct_acts", "lengths"}


def test_only_the_changed_test_runs() -> None:
    reuse = changed(keys_of_acts="select fewer")
    assert reuse.ready() == reuse.left() == {"keys_of_acts"} and reuse.project.read_from_scratch(reuse.left()) == set()
    assert reuse.project.selector(reuse.left()) == "fqn:warehouse.keys_of_acts"


def test_rebuilt_table_with_the_same_rows_is_recorded_for_the_next_build() -> None:
    first = changed(fct_turns="select it otherwise")
    first.note(first.ready(), same={"fct_turns"})
    base = BuildManifest(build_id="first", started_at="", source="", raw={}, definitions=first.now)
    assert Reuse(Project(written(fct_turns="select it otherwise")), "files", base).left() == set()
    again = Reuse(Project(written(fct_turns="select it a third way")), "files", base)
    again.note(again.ready(), same={"fct_turns"})
    assert again.left() == set()
    again = Reuse(Project(written(fct_turns="select other rows")), "files", base)
    again.note(again.ready(), same=set())
    assert again.left() == {"keys_of_turns", "violations", "overview"}
    assert "fct_turns" not in again.now.contents


def test_new_model_is_built_and_removed_model_is_ignored() -> None:
    base = published()
    del base.definitions.digests["fct_acts"], base.definitions.digests["keys_of_acts"]
    base.definitions.digests["fct_votes"] = "unread"
    reuse = Reuse(Project(written()), "files", base)
    assert reuse.ready() == {"fct_acts"}
    assert reuse.left() == {"fct_acts", "keys_of_acts"}
    assert reuse.reused() == ["core.fct_turns", "core.overview", "core.violations"]


@pytest.mark.parametrize(
    ("settings", "is_taken"),
    [({}, True), ({"force": True}, False), ({"engine": "spark"}, False), ({"tables": "parquet"}, False)],
)
def test_full_build_reuses_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, settings: dict[str, Any], is_taken: bool
) -> None:
    paths = WarehousePaths(tmp_path)
    given = Settings(warehouse=tmp_path, **settings)
    build = state.new_build(given, "run")
    raw_layer.write_catalog(registry.load_corpora(), [], paths, Settings())
    base = published(reusing._inputs(build, paths))
    monkeypatch.setattr(reusing, "_base", lambda _: base)
    reuse = reusing.plan(written(), build, paths, given)
    assert (reuse.base is base) == is_taken
    assert len(reuse.now.digests) == len(READS) - 1


@pytest.mark.parametrize(
    ("place", "is_read"),
    [
        ("dialogue_warehouse/site/application.py", False),
        ("dialogue_warehouse/api/warehouse.py", False),
        ("dialogue_warehouse/exporting/chat.py", False),
        ("dialogue_warehouse/scoring/measuring.py", False),
        ("dialogue_warehouse/site/report.py", False),
        ("dialogue_warehouse/terminal/printing.py", False),
        ("dialogue_warehouse/site/drawing.py", False),
        ("dialogue_warehouse/cli/main.py", False),
        ("dialogue_warehouse/site/templates/report.css", False),
        ("pipelines/building/dbt.py", True),
        ("pipelines/ingestion/landing.py", True),
        ("dialogue_warehouse/settings.py", True),
        ("dbt_project/macros/keys.sql", True),
    ],
)
def test_change_of_code_that_only_shows_a_build_runs_no_model(place: str, is_read: bool) -> None:
    """Regression: a comment in a page ran all models.

    It still changes the fingerprint, so that the report is written.
    """
    file = CLONE / place
    assert file in set(fingerprint.code_files())
    assert reusing._is_read_by_all(file) is is_read


def test_templates_of_the_report_are_part_of_the_fingerprint() -> None:
    """Regression: an edited page or style sheet changed nothing, and the build did nothing."""
    shown = [path for path in (CLONE / "dialogue_warehouse").rglob("*") if path.suffix in (".html", ".css", ".js")]
    assert shown
    assert set(shown) <= set(fingerprint.code_files())


def test_code_of_a_clone_below_a_folder_called_target_is_part_of_the_fingerprint(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Regression: no file of such a clone was, so that a build after an upgrade found nothing to do."""
    clone = tmp_path / "target" / "clone"
    monkeypatch.setattr(fingerprint, "CLONE", clone)
    monkeypatch.setattr(fingerprint, "DBT_PROJECT", clone / "dbt_project")
    models = clone / "dbt_project" / "models" / "target"  # those of a corpus with this name
    for folder in (models, clone / "dbt_project" / "target"):
        folder.mkdir(parents=True)
        (folder / "model.sql").touch()
    assert list(fingerprint.code_files()) == [models / "model.sql"]
