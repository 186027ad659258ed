"""Checks before a build: its input is usable, and it does not replace a larger build by a smaller one."""

from __future__ import annotations

import errno
import os
import shutil
from pathlib import Path
from types import SimpleNamespace

import duckdb
import pytest

from dialogue_warehouse.common.progress import Reporter
from dialogue_warehouse.corpora import registry
from dialogue_warehouse.errors import NO_SPACE, InputError
from dialogue_warehouse.paths import WarehousePaths
from dialogue_warehouse.reading import catalogue, query
from dialogue_warehouse.releases.finding import Source
from dialogue_warehouse.settings import Settings
from expectations.client import AuditProcess
from pipelines.building import checks, state
from pipelines.building.checks import check_input
from pipelines.building.session import Session, open_session
from pipelines.building.summary import Summary, print_summary
from pipelines.ingestion.lander import Lander
from tests.unit.published import BUILD, make_build, run, snapshot

ONE, OTHER = registry.corpus_ids()[:2]


def publish(paths: WarehousePaths, *files: tuple[str, str]) -> None:
    """Give the published build of the fixture files, each of a corpus and with a verification."""
    with duckdb.connect(str(paths.build_database(BUILD))) as con:
        con.execute("create table core.dim_source_files (corpus_id varchar, verification varchar)")
        con.executemany("insert into core.dim_source_files values (?, ?)", files)


def offer(folder: Path, *corpus_ids: str, generated: bool = False) -> Path:
    """Return a source with one data file per corpus."""
    for corpus in map(registry.load_corpus, corpus_ids):
        path = next(file.path for file in corpus.files if corpus.entity_of(file.path) and not file.is_documentation)
        file = folder / corpus.corpus_id / path
        file.parent.mkdir(parents=True)
        file.write_bytes(b"[]")
        if generated:
            (folder / corpus.corpus_id / "SIMULATED.json").write_text('{"scale": 1, "seed": 0}')
    return folder


def settings(paths: WarehousePaths, source: Path | None, **options: object) -> Settings:
    return Settings(warehouse=paths.root, source=source, **options)


def session_of(chosen: Settings, paths: WarehousePaths) -> Session:
    """A session that holds no lock and has repaired nothing."""
    lander = Lander(paths.raw, chosen)
    return Session(chosen, paths, Reporter(quiet=True), Source(chosen, paths), AuditProcess(), lander, None)


def test_the_sample_does_not_replace_real_files(paths):
    """The message says what would be lost, its source, and the command to type."""
    publish(paths, (ONE, "verified"), (ONE, "mismatch"), (OTHER, "simulated"))
    with pytest.raises(InputError) as refused:
        checks.refuse_less(Source(settings(paths, None), paths))
    said = str(refused.value)
    assert f"2 real files of {ONE} would be replaced by generated ones" in said
    assert OTHER not in said
    assert f"build {BUILD} in {paths.root}, made from /releases" in said
    assert "--replace (DIALOGUE_REPLACE=1)" in said
    assert "\n" not in said


def test_a_narrower_build_does_not_drop_a_corpus(paths, tmp_path):
    """Neither by --corpora nor by a source that lacks the corpus, real or generated."""
    publish(paths, (ONE, "verified"), (OTHER, "simulated"))
    both = offer(tmp_path / "both", ONE, OTHER)
    with pytest.raises(InputError, match=f"1 generated file of {OTHER} would be dropped"):
        checks.refuse_less(Source(settings(paths, both, only=(ONE,)), paths))
    with pytest.raises(InputError, match=f"1 real file of {ONE} would be dropped"):
        checks.refuse_less(Source(settings(paths, offer(tmp_path / "other", OTHER)), paths))
    checks.refuse_less(Source(settings(paths, both, only=(ONE, OTHER)), paths))


@pytest.mark.parametrize("verification", ["verified", "simulated"])
def test_same_corpora_or_more_replace_the_published_build(paths, tmp_path, verification):
    """Real files replace generated and real ones."""
    publish(paths, (ONE, verification))
    checks.refuse_less(Source(settings(paths, offer(tmp_path / "both", ONE, OTHER)), paths))


def test_generated_files_replace_only_generated_files(paths, tmp_path):
    source = offer(tmp_path / "generated", ONE, generated=True)
    publish(paths, (ONE, "simulated"))
    checks.refuse_less(Source(settings(paths, source), paths))
    with duckdb.connect(str(paths.build_database(BUILD))) as con:
        con.execute("update core.dim_source_files set verification = 'unlisted'")
    with pytest.raises(InputError, match="would be replaced by generated ones"):
        checks.refuse_less(Source(settings(paths, source), paths))


def test_replace_option_allows_it(paths, monkeypatch):
    publish(paths, (ONE, "verified"))
    checks.refuse_less(Source(settings(paths, None, replace=True), paths))
    monkeypatch.setenv("DIALOGUE_REPLACE", "1")
    checks.refuse_less(Source(Settings.from_environment(warehouse=paths.root), paths))


def test_unreadable_build_can_be_replaced(paths, tmp_path):
    """A damaged warehouse can be built again."""
    checks.refuse_less(Source(settings(paths, None), WarehousePaths(tmp_path / "none")))
    paths.build_database(BUILD).write_bytes(b"damaged")
    checks.refuse_less(Source(settings(paths, None), paths))


def test_first_step_of_a_run_fails_before_any_change(tmp_path):
    """The first step of a run of the graph, wherever it was started."""
    paths = WarehousePaths(tmp_path / "warehouse")
    make_build(paths)
    publish(paths, (ONE, "verified"))
    before = snapshot(paths.root)
    with pytest.raises(InputError, match="--replace"):
        state.begin(session_of(settings(paths, None), paths), "run")
    assert snapshot(paths.root) == before


def test_error_for_the_folder_of_one_corpus_names_its_parent(tmp_path):
    """The error for `--source FOLDER/<corpus>` suggests `--source FOLDER`."""
    source = offer(tmp_path / "releases", ONE)
    paths = WarehousePaths(tmp_path / "warehouse")
    with pytest.raises(InputError, match=rf"the folder above has: give --source {source}$"):
        check_input(Source(Settings(source=source / ONE), paths))
    check_input(Source(Settings(source=source), paths))


def test_suggestion_for_a_table_works(con):
    """In a query and in `describe`."""
    with pytest.raises(InputError, match=r"Did you mean core\.fct_turns") as refused:
        query.run_query(con, "from core.fct_turn")
    assert "\n" not in str(refused.value)
    assert run(con, "from fct_turns")
    with pytest.raises(InputError, match=r"did you mean core\.fct_turns"):
        catalogue.describe_table(con, "fct_turn")


def test_escapes_are_visible_in_notices_and_warnings(tmp_path, capsys):
    counted = dict.fromkeys(("passed", "warned", "failed"), 0)
    reported = ["key \x1b[31mred\x07"]
    database = tmp_path / "a [/b]" / "dialogues.duckdb"
    print_summary(Summary("b", database, 0, [], counted, warnings=reported, notices=reported))
    shown = capsys.readouterr().out
    assert f"published {database} (" in shown
    assert r"notice: key \x1b[31mred\x07" in shown
    assert r"warning: key \x1b[31mred\x07" in shown
    assert "\x1b" not in shown


def test_path_too_long_for_the_history_of_runs_is_rejected(tmp_path):
    """Regression: SQLite opens no file whose path has more than 512 bytes, and a build ended in an internal error."""
    folder = tmp_path / "/".join(["deep" * 25] * 4)
    with pytest.raises(InputError, match=rf"^{folder}: the path has \d+ bytes; that of a warehouse can have 400$"):
        check_input(Source(Settings(), WarehousePaths(folder)))
    check_input(Source(Settings(), WarehousePaths(tmp_path)))


def test_source_is_listed_once_for_checks_and_landing(tmp_path):
    """The checked files are those that are landed: a file that disappears is rejected by landing, and not skipped."""
    paths = WarehousePaths(tmp_path / "warehouse")
    make_build(paths)
    folder = offer(tmp_path / "both", ONE, OTHER)
    chosen = settings(paths, folder)
    session = session_of(chosen, paths)
    source = session.source
    build = state.begin(session, "run")
    assert build.source == str(folder)
    before = source.releases()
    shutil.rmtree(folder / ONE)
    (folder / "new").mkdir()
    assert [release.files for release in source.releases()] == [release.files for release in before]
    assert len(source.release(registry.load_corpus(ONE)).files) == 1
    assert [group.first[0].path for group in source.foreign] == ["new/"]  # looked at only now
    again = Source(chosen, paths)
    assert again.release(registry.load_corpus(ONE)).files == ()
    publish(paths, (ONE, "verified"))
    with pytest.raises(InputError, match=f"1 real file of {ONE} would be dropped"):
        checks.check_before_building(again)
    checks.check_before_building(source)


def test_checks_are_made_once_and_a_refusal_is_repeated(paths, tmp_path, monkeypatch):
    """Each landing step of a run asks for the checks; the first one makes them."""
    made = []
    monkeypatch.setattr(checks, "check_before_building", made.append)
    session = session_of(settings(paths, None), paths)
    session.check()
    session.check()
    assert made == [session.source]
    monkeypatch.undo()
    publish(paths, (ONE, "verified"))
    monkeypatch.setattr(checks, "check_input", made.append)  # the fixture's path cannot be that of a warehouse
    refused = session_of(settings(paths, offer(tmp_path / "other", OTHER)), paths)
    with pytest.raises(InputError, match="would be dropped") as first:
        refused.check()
    with pytest.raises(InputError) as again:
        refused.check()
    assert again.value is first.value
    assert made == [session.source, refused.source]


def test_file_in_place_of_the_source_is_not_called_missing(tmp_path: Path) -> None:
    paths = WarehousePaths(tmp_path / "warehouse")
    (tmp_path / "file").touch()
    for form in ("release", "huggingface"):
        with pytest.raises(InputError, match=r"/file: is not a folder$"):
            check_input(Source(settings(paths, tmp_path / "file", form=form), paths))


def test_unknown_corpus_to_read_again_is_rejected(tmp_path: Path) -> None:
    """Regression: a build of the sample ignored it, and read nothing again."""
    paths = WarehousePaths(tmp_path / "warehouse")
    with pytest.raises(InputError, match=r"^nowhere: no such corpus; there are "):
        check_input(Source(settings(paths, None, refresh=("nowhere",)), paths))


def test_disk_without_inodes_is_not_called_full(paths: WarehousePaths, monkeypatch: pytest.MonkeyPatch) -> None:
    """Regression: the message said that there was more space than the build needs."""
    source, full = Source(settings(paths, None), paths), OSError(errno.ENOSPC, NO_SPACE)
    assert "a build of this source needs about" in str(checks.explain_full_disk(full, source))
    limits = SimpleNamespace(f_files=1000, f_favail=3)
    monkeypatch.setattr(os, "statvfs", lambda _: limits)
    said = "its file system has no inodes left for more files (`df --inodes`)"
    assert str(checks.explain_full_disk(full, source)) == f"{paths.root}: {NO_SPACE}; {said}"


@pytest.mark.parametrize("is_checked_first", [False, True])
def test_corpus_that_the_settings_leave_out_cannot_be_read_again(tmp_path: Path, is_checked_first: bool) -> None:
    """Regression: the job of this corpus succeeded, and had not read it."""
    paths = WarehousePaths(tmp_path / "warehouse")
    chosen = settings(paths, None, only=(ONE,), refresh=(ONE, OTHER))
    refused = rf"^{OTHER} is to be read again, but the build is limited to {ONE} \(DIALOGUE_ONLY, --corpora\)$"
    opened = open_session(chosen, paths, Reporter(quiet=True), is_checked_first=is_checked_first)
    with pytest.raises(InputError, match=refused), opened:
        pass
    assert not paths.root.exists()
