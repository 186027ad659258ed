"""The command's output is true and can be typed: next commands, source, notices, place of a failed check."""

from __future__ import annotations

import re
import shlex
import shutil
import subprocess
from pathlib import Path

import pytest

from dialogue_warehouse.common.database import connect
from dialogue_warehouse.corpora import registry
from dialogue_warehouse.corpora.suites import QUERY_ROWS, load_suites
from dialogue_warehouse.errors import BuildError
from dialogue_warehouse.settings import Settings
from pipelines.building.history import first_cases
from tests.conftest import CLONE, rows, run_command

README = (CLONE / "README.md").read_text(encoding="utf-8")


def paste(line: str) -> subprocess.CompletedProcess[str]:
    """Run a line in a shell whose PATH has none of this project's programs."""
    environment = {"PATH": "/usr/bin:/bin", "HOME": "/nowhere"}
    return subprocess.run(line, shell=True, cwd=CLONE, env=environment, capture_output=True, text=True, check=False)


def test_next_commands_of_a_build_can_be_pasted(sample_folder: Path, tmp_path: Path) -> None:
    """They answer from the warehouse that was built, without an activated environment."""
    sample_folder = Path(shutil.copytree(sample_folder, tmp_path / "warehouse"))  # no other test builds there
    built = run_command("build", "--warehouse", sample_folder)
    assert "nothing changed" in built.stdout
    lines = re.findall(r"^(?:next:|     ) (\S*dialogue-warehouse .*)$", built.stdout, flags=re.M)
    assert [shlex.split(line)[1] for line in lines] == ["tables", "sql"]
    for line, expected in zip(lines, ("core.fct_turns", "turns"), strict=True):
        assert shlex.split(line)[-2:] == ["--warehouse", str(sample_folder)]
        pasted = paste(line)
        assert (pasted.returncode, pasted.stderr) == (0, "")
        assert expected in pasted.stdout


def test_commands_of_the_readme_are_those_of_the_activated_environment() -> None:
    """The README says once how to put the name on the PATH, before it uses the name."""
    activation = ". .venv/bin/activate"
    assert activation in README
    assert README.index(activation) < README.index("dialogue-warehouse tables")


def test_status_names_the_source_of_the_published_build(awkward_folder: Path, awkward_releases: Path) -> None:
    """It counts the files there, not those of the sample."""
    shown = run_command("status", "--warehouse", awkward_folder).stdout
    build_id = (awkward_folder / "published.json").read_text().split('"')[3]
    assert f"published  build {build_id}, made from {awkward_releases}\n" in shown
    assert f"source     {awkward_releases}\n" in shown
    assert "embedded sample" not in shown
    of_sgd = re.search(r"sgd: (\d+) of \d+ files present", shown)
    assert of_sgd and int(of_sgd[1]) > 0


def test_files_that_differ_from_the_list_are_reported(awkward_folder: Path, awkward_warehouse, tmp_path: Path) -> None:
    """One notice per corpus, also if nothing has changed since."""
    awkward_folder = Path(shutil.copytree(awkward_folder, tmp_path / "warehouse"))
    reported = run_command("build", "--warehouse", awkward_folder, "--source", awkward_source(awkward_folder)).stdout
    query = "select corpus_id, count(*), count(*) filter (where verification = 'mismatch') from core.dim_source_files group by 1"
    counted = [row for row in rows(awkward_warehouse, query) if row[2]]
    assert counted
    for corpus_id, files, mismatches in counted:
        assert (
            f"notice: {corpus_id}: {mismatches} of {files} files differ from their listed checksum, such as" in reported
        )


def test_files_that_agree_with_the_list_are_not_reported(sample_folder: Path, tmp_path: Path) -> None:
    """The failing twin."""
    sample_folder = Path(shutil.copytree(sample_folder, tmp_path / "warehouse"))
    assert "checksum" not in run_command("build", "--warehouse", sample_folder).stdout


def awkward_source(folder: Path) -> str:
    """Return the source of a published build."""
    found = re.search(r"made from (.*)", run_command("status", "--warehouse", folder).stdout)
    assert found
    return found[1]


@pytest.fixture(scope="module")
def failing(awkward_folder: Path) -> list[tuple[str, object]]:
    """Return the expectations that failed on the hand-written releases."""
    import duckdb

    with duckdb.connect(str(awkward_folder / "dialogues.duckdb"), read_only=True) as con:
        found = con.sql("select suite, expectation from quality.expectation_results where not success").fetchall()
    assert found
    declared = {(suite.name, one.expectation_id): one for suite in load_suites() for one in suite.expectations}
    return [(suite, declared[suite, name]) for suite, name in found]


@pytest.fixture
def database(awkward_folder: Path, tmp_path: Path) -> Path:
    """Return a copy of the published database: other tests have it open with other settings."""
    return Path(shutil.copy(awkward_folder / "dialogues.duckdb", tmp_path))


@pytest.mark.filterwarnings("ignore::DeprecationWarning:sqlglotrs")
def test_failure_under_strict_names_file_record_and_key(database: Path, failing) -> None:
    """The first cases of each claim that rows break, in one line with the claim."""
    from pipelines.dagster_graph.audit import failure

    failures = {
        suite: {
            "failures": [
                {"expectation": one.expectation_id, "severity": "warning", "description": "It holds.", "observed": "{}"}
                for name, one in failing
                if name == suite
            ]
        }
        for suite, _ in failing
    }
    refused = failure(failures, strict=True, database=database, settings=Settings())
    assert isinstance(refused, BuildError)
    of_corpora = {suite: failed for suite, failed in failures.items() if suite in registry.corpus_ids()}
    assert set(
        getattr(failure(of_corpora, strict=True, database=database, settings=Settings()), "at_fault", ())
    ) == set(of_corpora)
    lines = str(refused).splitlines()
    assert len(lines) == len(failing)
    numbers = [one for _, one in failing if one.type == QUERY_ROWS]
    assert numbers
    assert str(refused).count("; {}, expected ") == len(numbers)
    case = re.compile(r"such as (\w+)/\S+ record \d+ at /\S* \(\1/\S+\)")
    assert sum(bool(case.search(line)) for line in lines) >= len(registry.corpus_ids())
    assert failure(failures, strict=False, database=database, settings=Settings()) is None


def test_every_expectation_about_rows_has_cases_where_it_fails(database: Path) -> None:
    """Whatever type it has; what is about a number or a whole table has none."""
    of_no_row = {QUERY_ROWS, "expect_table_row_count_to_equal", "expect_column_distinct_values_to_equal_set"}
    with connect(Settings(), database, read_only=True) as con:
        results = con.execute("select suite, expectation, success from quality.expectation_results").fetchall()
    succeeded = {(suite, expectation): success for suite, expectation, success in results}
    wrong = [
        one.expectation_id
        for suite in load_suites()
        for one in suite.expectations
        if one.type not in of_no_row and (suite.name, one.expectation_id) in succeeded
        if bool(first_cases(database, suite.name, one, Settings())) == succeeded[suite.name, one.expectation_id]
    ]
    assert wrong == []


def test_named_cases_are_rows_that_break_the_claim(database: Path, failing) -> None:
    """Each printed key is one that the claim's query selects, and its record is the one at that place."""
    checked = 0
    with connect(Settings(), database, read_only=True) as con:
        for suite, one in failing:
            for case in first_cases(database, suite, one, Settings()):
                reported = re.fullmatch(r"(\S+) record (\d+) at (\S*) \((\S+)\)", case)
                if reported is None or one.type != "expect_no_unexpected_rows":
                    continue
                broken = {cell for row in con.sql(one.kwargs["query"]).fetchall() for cell in row}
                assert reported[4] in broken
                place = con.execute(
                    f"select source_file_id, record_index from core.source_of('{reported[4]}')"
                ).fetchall()
                assert place == [(reported[1], int(reported[2]))]
                checked += 1
    assert checked >= 5
