"""`check-corpus`: which tests it runs, its status, and what it needs."""

from __future__ import annotations

import subprocess
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from dialogue_warehouse.cli import corpora
from dialogue_warehouse.cli.main import cli
from dialogue_warehouse.corpora import claims, registry
from dialogue_warehouse.errors import InputError
from dialogue_warehouse.lineage import restoring
from dialogue_warehouse.paths import CLONE
from pipelines.building import pieces

CORPUS = registry.corpus_ids()[0]


def test_tests_that_build_nothing_run_first_and_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without tests that build, they are all that runs."""
    ran: list[tuple[str, ...]] = []
    run = corpora._run_in_clone

    def record(module: str, *given: str, **options: Any) -> subprocess.CompletedProcess[str]:
        if module != "pytest":
            return run(module, *given, **options)
        ran.append(given)
        return subprocess.CompletedProcess([], 0)

    monkeypatch.setattr(corpora, "_run_in_clone", record)
    assert CliRunner().invoke(cli, ["check-corpus", CORPUS, "--no-tests"]).exit_code == 0
    assert ran == [("--corpus", CORPUS, "-n", "0", *corpora.QUICK_TESTS)]
    assert CliRunner().invoke(cli, ["check-corpus", CORPUS]).exit_code == 0
    assert ran[1:] == [ran[0], ("--corpus", CORPUS, *(f"--ignore={path}" for path in corpora.QUICK_TESTS))]
    assert [path for path in corpora.QUICK_TESTS if not (CLONE / path).is_file()] == []


def test_failing_tests_of_a_corpus_are_status_1(monkeypatch: pytest.MonkeyPatch) -> None:
    for status, reported in ((0, "ok after 0 s"), (1, "failed after 0 s")):
        ended = subprocess.CompletedProcess([], status)
        run = corpora._run_in_clone
        monkeypatch.setattr(
            corpora,
            "_run_in_clone",
            lambda module, *given, run=run, ended=ended, **options: (
                ended if module == "pytest" else run(module, *given, **options)
            ),
        )
        checked = CliRunner().invoke(cli, ["check-corpus", CORPUS])
        assert (checked.exit_code, checked.output.splitlines()[-1]) == (status, f"{'tests':<11} {reported}")
        monkeypatch.undo()


def test_pieces_that_do_not_agree_are_reported_before_a_build(monkeypatch: pytest.MonkeyPatch) -> None:
    """Regression: only a build, or a restoration, noticed them."""
    unlisted = [f"{CORPUS}: a model is not listed", "another: a model is not listed"]
    monkeypatch.setattr(pieces, "unlisted_models", lambda _: iter(unlisted))
    monkeypatch.setattr(restoring, "read_sections", lambda *_: {})
    lines = corpora._disagreements(CORPUS)
    assert lines[0] == unlisted[0]
    assert [line.partition(" for ")[0] for line in lines[1:]] == [f"{CORPUS}/restore.sql: no query"]


def test_id_of_a_claim_of_another_corpus_is_reported_before_a_build(monkeypatch: pytest.MonkeyPatch) -> None:
    """Regression: a build of the new corpus alone was published; one of all corpora failed with `repeated key`."""
    claim = claims.load_claims(CORPUS)[0]
    monkeypatch.setattr(claims, "load_claims", lambda _: (claim,))
    monkeypatch.setattr(registry, "corpus_ids", lambda: (CORPUS, "another"))
    (line,) = corpora._disagreements(CORPUS)
    assert line == (
        f"{CORPUS}/claims.toml: the corpus another has a claim {claim.claim_id}, too: write {CORPUS}_{claim.claim_id} "
        f"here, and in tests/fixtures/{CORPUS}"
    )


def test_installed_package_has_no_tests_to_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(corpora, "CLONE", tmp_path)
    refused = CliRunner().invoke(cli, ["check-corpus", CORPUS])
    assert isinstance(refused.exception, InputError)
    assert str(refused.exception) == f"`check-corpus` needs a clone of the project; {tmp_path} is an installed package"
