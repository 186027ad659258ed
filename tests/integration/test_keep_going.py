"""A corpus with a damaged source falls back to its published files and reports it, while the others are built."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import duckdb
import pytest

from dialogue_warehouse.corpora import registry
from dialogue_warehouse.errors import InputError
from dialogue_warehouse.paths import WarehousePaths
from dialogue_warehouse.releases.finding import Source
from dialogue_warehouse.releases.source_tree import MARKER
from dialogue_warehouse.settings import Settings
from dialogue_warehouse.storage import builds
from dialogue_warehouse.storage.landed import Cause
from dialogue_warehouse.terminal.status import read_status
from pipelines.building import checks, fallback, fingerprint
from tests.conftest import run_command
from tests.integration.clones import build_with, copy_with_unknown_split
from tests.integration.disturbing import edit_file

DAMAGED, GONE, NEW = "abcd", "bbai", "sgd"
RESTORED = "from quality.restorations where list_contains(?, split_part(source_file_id, '/', 1)) order by all"


def snapshot(database: Path, *corpora: str) -> dict[str, list[Any]]:
    """Return all rows of these corpora in core, without the columns that mark a fallback."""
    listed = ", ".join(f"'{corpus_id}'" for corpus_id in corpora)
    with duckdb.connect(str(database), read_only=True) as con:
        tables = con.execute(
            "select distinct table_name from duckdb_columns() where schema_name = 'core' and column_name = 'corpus_id'"
        ).fetchall()
        return {
            table: con.execute(
                f"select * {'exclude (carried_from, carried_because)' if table == 'dim_corpora' else ''} "
                f"from core.{table} where corpus_id in ({listed}) order by all"
            ).fetchall()
            for (table,) in tables
        }


@pytest.fixture(scope="module")
def kept(
    awkward_folder: Path, awkward_releases: Path, tmp_path_factory: pytest.TempPathFactory
) -> tuple[WarehousePaths, Path, str]:
    """Return a warehouse whose last build has two corpora that fell back, its release, and the build before."""
    folder = tmp_path_factory.mktemp("kept")
    source = Path(shutil.copytree(awkward_releases, folder / "releases"))
    paths = WarehousePaths(shutil.copytree(awkward_folder, folder / "warehouse"))
    (source / DAMAGED / "ontology.json").write_text('{"cut')
    shutil.rmtree(source / GONE)
    changed = source / NEW / "dev" / "dialogues_001.json"
    first, *others = json.loads(changed.read_text())
    changed.write_text(json.dumps(others))
    assert first
    before = builds.pointed_build(paths)
    assert before is not None
    command = ("build", "--warehouse", paths.root, "--source", source)
    stopped = run_command(*command, "--replace")
    assert stopped.returncode == 2
    assert f"error: {DAMAGED}/ontology.json: " in stopped.stderr
    assert builds.pointed_build(paths) == before
    built = run_command(*command, "--keep-going", "--verify", "--quiet")
    assert (built.returncode, built.stdout) == (1, "")  # the build is published, but not of these files
    (line,) = built.stderr.splitlines()
    assert line.startswith(f"error: build {builds.pointed_build(paths)} is published, but {DAMAGED} is stale since 20")
    for reason in (f"{DAMAGED}/ontology.json: not JSON", f"; {GONE} is stale since 20", "the source has none of its"):
        assert reason in line
    return paths, source, before


def events(text: str) -> list[dict[str, Any]]:
    """Return the events of a command, one JSON object per line."""
    return [json.loads(line) for line in text.splitlines()]


def test_its_rows_are_those_of_the_earlier_build_and_the_others_are_new(kept: tuple[WarehousePaths, Path, str]) -> None:
    paths, _, before = kept
    now = builds.published_build(paths)[1]
    assert snapshot(now, DAMAGED, GONE) == snapshot(paths.build_database(before), DAMAGED, GONE)
    assert snapshot(now, NEW) != snapshot(paths.build_database(before), NEW)
    with duckdb.connect(str(now), read_only=True) as con:
        marks = con.execute("select corpus_id, carried_from from core.dim_corpora order by 1").fetchall()
        changed = con.execute("select distinct corpus_id from quality.build_changes where kind = 'row'").fetchall()
        restored = con.execute(RESTORED, [[DAMAGED, GONE]]).fetchall()
        compared = con.execute(RESTORED, [[NEW]]).fetchall()
        results = con.execute(
            "select distinct suite from quality.expectation_results where build_id = ?", [now.stem]
        ).fetchall()
    assert dict(marks) == dict.fromkeys(registry.corpus_ids()) | {DAMAGED: before, GONE: before}
    assert {NEW} <= {corpus_id for (corpus_id,) in changed}
    assert compared
    with duckdb.connect(str(paths.build_database(before)), read_only=True) as con:
        assert restored == con.execute(RESTORED, [[DAMAGED, GONE]]).fetchall()  # there was nothing to compare with
    assert {DAMAGED, GONE} <= {suite for (suite,) in results}


def test_fallback_is_reported_everywhere(kept: tuple[WarehousePaths, Path, str]) -> None:
    paths, _, before = kept
    (published, *_) = read_status(paths, Settings(warehouse=paths.root)).builds
    assert [line.partition(":")[0] for line in published.fallbacks] == [
        f"{corpus_id} falls back to build {before}" for corpus_id in (DAMAGED, GONE)
    ]
    assert sum(published.verdicts.values()) > 100
    page = (paths.reports / "index.html").read_text()
    assert page.count(f"falls back to build <code>{before}</code>") == 2
    status = run_command("status", "--json", "--warehouse", paths.root)
    assert (status.returncode, status.stderr) == (1, "")
    found = json.loads(status.stdout)
    assert [problem["kind"] for problem in found["problems"]] == ["stale_corpus"] * 2
    assert found["last_attempt"]["outcome"] == "published"
    assert found["last_attempt"]["at"] == found["last_check"]
    stale = {corpus["corpus_id"]: corpus for corpus in found["corpora"] if corpus["is_stale"]}
    assert {corpus_id: one["cause"] for corpus_id, one in stale.items()} == {DAMAGED: "damaged", GONE: "absent"}
    assert {one["files_of"] for one in stale.values()} == {before}
    assert {one["stale_since"] < found["last_check"] for one in stale.values()} == {True}
    last = json.loads(paths.alerts.read_text().splitlines()[-1])
    assert last["kind"] == "failure"
    assert last["text"].startswith(
        f"The build of {paths.root} has failed in part.\n{DAMAGED} falls back to build {before}"
    )


def test_repeated_fallback_names_the_original_build(kept: tuple[WarehousePaths, Path, str]) -> None:
    paths, _, before = kept
    again = fallback.fall_back(registry.load_corpus(GONE), paths, Cause.ABSENT)
    first = builds.read_manifest(paths, builds.pointed_build(paths) or "").carried[GONE]
    assert again.fallback == first == fallback.Fallback(before, Cause.ABSENT, since=first.since)
    assert first.since
    assert len(again.landed) == 3
    parquet = paths.raw / again.landed[0].parquet
    content = parquet.read_bytes()
    try:
        parquet.write_bytes(content[:-1])
        with pytest.raises(InputError, match=rf"{GONE}/.*: cannot fall back: .* is damaged"):
            fallback.fall_back(registry.load_corpus(GONE), paths, Cause.ABSENT)
    finally:
        parquet.write_bytes(content)


def test_build_that_would_repeat_the_fallback_writes_only_events(kept: tuple[WarehousePaths, Path, str]) -> None:
    paths, source, _ = kept
    published = builds.pointed_build(paths)
    command = ("build", "--warehouse", paths.root, "--source", source, "--keep-going", "--verify")
    again = run_command(*command, "--log-format", "json")
    assert again.returncode == 1
    *_, finished, error = events(again.stderr)
    assert (finished["is_unchanged"], finished["build_id"], error["status"]) == (True, published, 1)


def test_run_about_a_repaired_corpus_leaves_the_others(
    kept: tuple[WarehousePaths, Path, str], awkward_releases: Path
) -> None:
    """The job of one corpus: damage in another corpus does not matter.

    The repaired files are those of the fallback, but the build is not "unchanged".
    """
    paths, source, before = kept
    command = ("build", "--warehouse", paths.root, "--source", source)
    damaged = run_command(*command, "--keep-going", DIALOGUE_REFRESH=DAMAGED, DIALOGUE_LOG_FORMAT="json")
    assert damaged.returncode == 2  # its own corpus is damaged: there is nothing to publish
    *_, error = events(damaged.stderr)
    assert (error["event"], error["level"], error["status"]) == ("error", "error", 2)
    assert error["text"].startswith(f"{DAMAGED}/ontology.json: ")
    shutil.copy(awkward_releases / DAMAGED / "ontology.json", source / DAMAGED)
    built = run_command(*command, "--log-format", "json", DIALOGUE_REFRESH=DAMAGED)
    assert built.returncode == 1, built.stderr  # the other corpus is still absent
    assert "nothing changed" not in built.stdout
    reported = events(built.stderr)
    *_, finished, error = reported
    assert (finished["event"], finished["is_unchanged"]) == ("finished", False)
    assert finished["build_id"] == builds.pointed_build(paths)
    assert {corpus["corpus_id"] for corpus in finished["corpora"]} == set(registry.corpus_ids())
    assert (error["event"], error["status"]) == ("error", 1)
    assert f"{GONE} is stale since " in error["text"]
    assert DAMAGED not in error["text"]
    stages = {(event["stage"], event["name"]): event for event in reported if event["event"] == "stage_finished"}
    assert stages["land", DAMAGED]["counts"].keys() == {"files", "records"}
    assert stages["model", "warehouse"]["counts"]["models"] > 1
    assert all(event["seconds"] >= 0 for event in stages.values())
    assert [event for event in reported if event["event"] == "notice" and event["level"] == "warning"]
    carried = builds.read_manifest(paths, builds.pointed_build(paths) or "").carried
    assert set(carried) == set(registry.corpus_ids()) - {DAMAGED}
    assert carried[GONE].cause is Cause.ABSENT  # it is still absent
    assert carried[GONE].build_id == before
    assert carried[NEW].cause is Cause.NOT_ASKED_FOR
    assert carried[NEW].build_id not in (before, builds.pointed_build(paths))
    assert {json.loads(line)["kind"] for line in paths.alerts.read_text().splitlines()} == {"failure"}


def test_run_about_one_corpus_compares_no_other(sample_folder: Path, tmp_path: Path) -> None:
    """Regression: the build counted as verified, so that the next `build --verify` compared nothing."""
    paths = WarehousePaths(shutil.copytree(sample_folder, tmp_path / "warehouse"))
    built = run_command("build", "--warehouse", paths.root, "--verify", DIALOGUE_REFRESH=NEW)
    assert built.returncode == 0, built.stderr
    build_id = builds.pointed_build(paths)

    def unchanged(**named: Any) -> str | None:
        return fingerprint.unchanged(Source(Settings(warehouse=paths.root, **named), paths))

    assert [unchanged(), unchanged(verify=True, refresh=(NEW,))] == [build_id, build_id]
    assert [unchanged(verify=True), unchanged(verify=True, refresh=(GONE,))] == [None, None]


def test_run_about_one_corpus_leaves_out_those_that_are_not_published(tmp_path: Path, awkward_releases: Path) -> None:
    """Regression: the job of a corpus failed in each warehouse without all corpora."""
    source = Path(shutil.copytree(awkward_releases, tmp_path / "releases"))
    for corpus_id in set(registry.corpus_ids()) - {DAMAGED, NEW}:
        shutil.move(source / corpus_id, tmp_path / corpus_id)
    command = ("build", "--warehouse", tmp_path / "warehouse", "--source", source)
    assert run_command(*command).returncode == 0
    shutil.move(tmp_path / GONE, source)  # it has arrived, but the run is not about it
    built = run_command(*command, "--force", "--verify", DIALOGUE_REFRESH=DAMAGED)
    assert built.returncode == 0, built.stderr
    assert GONE not in "".join(line for line in built.stdout.splitlines() if line.startswith("notice: "))
    paths = WarehousePaths(tmp_path / "warehouse")
    manifest = builds.read_manifest(paths, builds.pointed_build(paths) or "")
    assert {file.corpus_id for file in manifest.files} == {DAMAGED, NEW}
    assert set(manifest.carried) == {NEW}
    assert GONE not in manifest.ignored
    assert "nothing changed" in run_command(*command, DIALOGUE_REFRESH=DAMAGED).stdout
    nothing_there = ("build", "--warehouse", tmp_path / "new", "--source", source)
    refused = run_command(*nothing_there, DIALOGUE_REFRESH=DAMAGED)
    assert refused.returncode == 2
    assert "cannot fall back, because nothing is published" in refused.stderr


def test_corpus_without_a_published_build_cannot_fall_back(tmp_path: Path, awkward_releases: Path) -> None:
    source = Path(shutil.copytree(awkward_releases, tmp_path / "releases"))
    (source / DAMAGED / "ontology.json").write_text('{"cut')
    built = run_command("build", "--warehouse", tmp_path / "new", "--source", source, "--keep-going")
    assert built.returncode == 2
    assert f"error: {DAMAGED}/ontology.json: not JSON" in built.stderr
    corpus = registry.load_corpus(DAMAGED)
    paths = WarehousePaths(tmp_path / "new")
    assert not checks.can_fall_back(DAMAGED, paths, Settings())
    with pytest.raises(InputError, match=f"{DAMAGED}: cannot fall back, because nothing is published"):
        fallback.fall_back(corpus, paths, Cause.DAMAGED, "x")


def test_if_everything_is_damaged_each_corpus_is_named(awkward_folder: Path, tmp_path: Path) -> None:
    paths = WarehousePaths(shutil.copytree(awkward_folder, tmp_path / "warehouse"))
    file = tmp_path / "releases" / NEW / "dev" / "dialogues_001.json"
    file.parent.mkdir(parents=True)
    file.write_text('[{"dialogue_id": "1')
    built = run_command("build", "--warehouse", paths.root, "--source", tmp_path / "releases", "--keep-going")
    assert built.returncode == 2
    lines = built.stderr.partition("error: ")[2].splitlines()
    assert len(lines) == len(registry.corpus_ids())
    for corpus_id, line in zip(registry.corpus_ids(), lines, strict=True):
        assert line.startswith((f"{corpus_id}: the source has none of its files", f"{NEW}/dev/dialogues_001.json: not"))


def test_damaged_mark_of_a_generated_release_stops_no_other_corpus(sample_folder: Path, tmp_path: Path) -> None:
    """Regression: the build failed, because the mark was read after the files of the corpus."""
    paths = WarehousePaths(shutil.copytree(sample_folder, tmp_path / "warehouse"))
    source = paths.sample.rename(tmp_path / "releases")
    edit_file(source / NEW / "dev" / "dialogues_001.json", lambda dialogues: dialogues[1:])
    (source / DAMAGED / MARKER).write_text("{")
    built = run_command("build", "--warehouse", paths.root, "--source", source, "--keep-going", "--quiet")
    assert built.returncode == 1
    assert f"{DAMAGED} is stale since " in built.stderr
    assert f"because {source / DAMAGED / MARKER}: is not the scale and seed of a generated release" in built.stderr


def with_another_question(questions: Any) -> Any:
    """Change a question: the record is still valid, and the faulty model finds it by its text."""
    first, *others = questions.items()
    return {"Question 4711?": first[1], **dict(others)}


def with_a_candidate_twice(parts: Any) -> Any:
    """Repeat a candidate in a turn: an expectation fails, which prevents publication under `--strict`."""
    turns = (turn for conversation in parts["train"] for turn in conversation["delexed"])
    candidates = next(turn["candidates"] for turn in turns if turn["candidates"] and turn["targets"][4] > 1)
    candidates[0] = candidates[1]
    return parts


def test_rows_that_fail_a_check_are_not_published(sample_folder: Path, tmp_path: Path) -> None:
    """Rows of two corpora land; one fails a test of the models, then the other one fails the audit.

    Both corpora fall back, and new rows of another corpus are published. No published data make a test of the models
    fail; for this case, the fault is planted in a model.
    """
    paths = WarehousePaths(shutil.copytree(sample_folder, tmp_path / "warehouse"))
    source = paths.sample.rename(tmp_path / "releases")
    before, database = builds.published_build(paths)
    edit_file(source / GONE / "test.json", with_another_question)
    edit_file(source / DAMAGED / "abcd_v1.1.json.gz", with_a_candidate_twice)
    edit_file(source / NEW / "dev" / "dialogues_001.json", lambda dialogues: dialogues[1:])
    project = copy_with_unknown_split(tmp_path / "clone", GONE, "utterance = 'Question 4711?'")
    built = build_with(project, paths.root, "--source", str(source), "--strict", "--keep-going")
    assert built.returncode == 1, built.stderr
    for corpus_id in (GONE, DAMAGED):
        assert f"{corpus_id} is stale since " in built.stderr
    for corpus_id, reported in ((GONE, "test sound_"), (DAMAGED, f"{DAMAGED}: A09c (warning): ")):
        assert f"notice: {corpus_id} falls back to build {before}: {reported}" in built.stdout
    now, manifest = builds.published_build(paths)[1], builds.read_manifest(paths, builds.published_build(paths)[0])
    assert snapshot(now, *registry.corpus_ids())["dim_source_files"]
    for corpus_id in registry.corpus_ids():
        assert (snapshot(now, corpus_id) == snapshot(database, corpus_id)) is (corpus_id != NEW)
    fallen_back = {corpus_id: one.build_id for corpus_id, one in manifest.carried.items()}
    assert fallen_back == {GONE: before, DAMAGED: before}
    text = json.loads(paths.alerts.read_text().splitlines()[-1])["text"]
    for corpus_id, one in manifest.carried.items():
        assert [line for line in manifest.notices if line.startswith(corpus_id)] == [one.describe(corpus_id)]
        assert text.count(f"{corpus_id} falls back to build") == 1
