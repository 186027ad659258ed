"""Pages for new users: every command and every query in them works, and their statements about a claim are true."""

from __future__ import annotations

import contextlib
import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import duckdb
import msgspec
import pytest

import dialogue_warehouse as dw
from dialogue_warehouse.cli.main import cli
from dialogue_warehouse.common import files
from dialogue_warehouse.corpora import claims, registry
from dialogue_warehouse.corpora.scores import load_scoring, scored_corpora
from dialogue_warehouse.paths import CLONE, WarehousePaths
from dialogue_warehouse.reading.connection import open_published
from dialogue_warehouse.scoring import tables
from tests import python_reference, quality_page

DOCS = CLONE / "docs"
PAGES = ("first_ten_minutes", "query_it", "read_a_refuted_claim", "export", "score")


def blocks(page: str, language: str) -> list[str]:
    """Return the code blocks of a page in a language; for the shell, those that any machine can run."""
    text = (DOCS / f"{page}.md").read_text(encoding="utf-8")
    return [block for of, block in re.findall(r"^```(\w*)\n(.*?)^```", text, re.M | re.S) if of == language]


@pytest.fixture(scope="module")
def folder(sample_folder: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with a warehouse at the path that the pages use."""
    folder = tmp_path_factory.mktemp("reader")
    shutil.copytree(sample_folder, folder / "warehouse", symlinks=True)
    return folder


def run(folder: Path, *command: str) -> subprocess.CompletedProcess[str]:
    environment = {name: value for name, value in os.environ.items() if not name.startswith("DIALOGUE_")} | {
        "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}",
        "DIALOGUE_WAREHOUSE": str(folder / "warehouse"),
        "PYTHONPATH": str(CLONE),
    }
    return subprocess.run(
        command, cwd=folder, env=environment, capture_output=True, text=True, check=False, timeout=300
    )


@pytest.mark.parametrize("page", PAGES)
def test_commands_of_the_page_work(folder: Path, page: str) -> None:
    commands = [block for block in blocks(page, "") if "make warehouse" not in block]
    assert commands or page == "query_it"
    ran = run(folder, "bash", "-c", "set -e\n" + "".join(commands))
    assert ran.returncode == 0, ran.stderr
    if page == "first_ten_minutes":
        assert "filled: " in ran.stdout
        assert (folder / "profile.csv").read_text().startswith("corpus_id,")


def test_commands_and_python_of_the_readme_work(folder: Path) -> None:
    others = ("make warehouse", "--source FOLDER")  # the fixture has built; there is no network
    commands = [block for block in blocks("../README", "") if not any(other in block for other in others)]
    asked = "<<< 'select 1'"  # `sql` without a query reads one, as there is no terminal
    ran = run(folder, "bash", "-c", f"set -e\n{{ {''.join(commands)} }} {asked}")
    assert ran.returncode == 0, ran.stderr
    for written in ("training/sgd/train.jsonl", "predictions", "DIR"):
        assert (folder / written).exists()
    (code,) = blocks("../README", "python")
    read = run(folder, sys.executable, "-W", "error", "-c", code)
    assert (read.returncode, read.stderr) == (0, "")
    assert read.stdout.startswith("sgd/test/")


def test_first_page_begins_with_the_command_that_creates_the_environment() -> None:
    assert blocks("first_ten_minutes", "")[0].splitlines()[0].startswith("make warehouse ")
    makefile = (CLONE / "Makefile").read_text(encoding="utf-8")
    assert "\nwarehouse: " in makefile


@pytest.mark.parametrize("number", range(4))
def test_python_of_the_page_works(folder: Path, number: int) -> None:
    found = [block for block in blocks("query_it", "python") if ".tables" not in block]  # those: test_parquet_tables.py
    assert len(found) == 4
    ran = run(folder, sys.executable, "-c", found[number])
    assert (ran.returncode, ran.stderr) == (0, "")


FIRST_QUESTION = 7
"""Number of the blocks of the page about Python before its five questions."""
QUESTIONS = """
select corpus_id, split, turns from (query) as found;
select agent_id, cast(sum(right_questions) as integer) from (query) as found group by agent_id having sum(right_questions) > 0;
select unnest(['twice', 'once']), cast(unnest([sum(labeled_twice), sum(labeled_once)]) as integer) from (query) as found;
select subflow, 'exact', cast(round(dialogues * exact_percent / 100) as integer) as times from (query) as found where times > 0;
select split, true, cast(round(retrievals * target_first_percent / 100) as integer) as times from (query) as found where times > 0;
"""
"""The same answers from the example queries."""
ANSWERS = """
select = {{"followed": lambda key: key[1] == "exact", "first": lambda key: key[1]}}.get({0!r}, lambda key: True)
import json
print(json.dumps([[*(key if isinstance(key, tuple) else [key]), times] for key, times in {0}.items() if select(key)]))
"""


@pytest.mark.parametrize("number", range(FIRST_QUESTION))
def test_python_of_the_python_page_works(folder: Path, number: int) -> None:
    for command in blocks("python", ""):
        assert run(folder, "bash", "-c", command).returncode == 0
    ran = run(folder, sys.executable, "-W", "error", "-c", blocks("python", "python")[number])
    assert (ran.returncode, ran.stderr) == (0, "")
    assert ran.stdout


@pytest.mark.parametrize(("number", "name"), [*enumerate(("turns", "right", "agreement", "followed", "first"))])
def test_five_questions_have_the_answers_of_the_example_queries(
    folder: Path, sample_warehouse: Path, number: int, name: str
) -> None:
    found = blocks("python", "python")[FIRST_QUESTION:]
    assert len(found) == 5
    ran = run(folder, sys.executable, "-c", found[number] + ANSWERS.format(name))
    assert ran.returncode == 0, ran.stderr
    query = sorted((CLONE / "warehouse" / "queries").glob("*.sql"))[number].read_text(encoding="utf-8")
    question = QUESTIONS.strip().split(";")[number].replace("(query)", f"({query})")
    with duckdb.connect(str(sample_warehouse), read_only=True) as con:
        expected = con.execute(question).fetchall()
    assert expected
    assert sorted(json.loads(ran.stdout), key=str) == sorted(map(list, expected), key=str)


def test_agreement_on_the_python_page_differs_from_the_table_as_it_says(folder: Path, sample_warehouse: Path) -> None:
    """The table has the same ranges with two labels, and leaves out dialogues in which none occurs twice."""
    found = blocks("python", "python")[FIRST_QUESTION + 2]
    ran = run(folder, sys.executable, "-c", f"{found}\nprint(agreement['twice'], agreement['once'])")
    twice, once = map(int, ran.stdout.split())
    with duckdb.connect(str(sample_warehouse), read_only=True) as con:
        sums = "select sum(spans_by_both), sum(spans_by_one), sum(spans) from analytics.annotator_agreement"
        ((by_both, by_one, spans),) = con.execute(sums).fetchall()
    assert (by_both, spans) == (twice, twice + once)
    assert by_one < once


def test_searches_of_the_page_about_dialogues_find_utterances(folder: Path) -> None:
    searches = [line for line in blocks("read_a_dialogue", "sh")[0].splitlines() if " search " in line]
    assert len(searches) == 3
    for search in searches:
        ran = run(folder, "bash", "-c", search)
        assert (ran.returncode, ran.stderr) == (0, "")
        assert ran.stdout.strip() != "[]" and "\n0 rows" not in ran.stdout, search


def test_python_of_the_page_about_dialogues_works(folder: Path) -> None:
    (block,) = blocks("read_a_dialogue", "python")
    ran = run(folder, sys.executable, "-c", f"{block}\nprint(html[:7])")
    assert (ran.returncode, ran.stderr) == (0, "")
    assert ran.stdout.splitlines()[1:] == ["<style>"] and ran.stdout.splitlines()[0]


def test_reference_of_python_is_made_from_the_docstrings() -> None:
    assert sorted(name for names in python_reference.GROUPS.values() for name in names) == sorted(dw.__all__)
    assert python_reference.PAGE.read_text(encoding="utf-8") == python_reference.page()


def test_python_of_the_export_page_joins_the_exported_files(folder: Path) -> None:
    (block,) = blocks("export", "python")
    command = blocks("export", "")[0].splitlines()[0]
    ran = run(folder, "bash", "-c", command)
    assert ran.returncode == 0, ran.stderr
    ran = run(folder, sys.executable, "-c", f"{block}\nassert acts and all(times for *_, times in acts)")
    assert (ran.returncode, ran.stderr) == (0, "")


def test_export_page_describes_every_option_and_every_corpus() -> None:
    text = (DOCS / "export.md").read_text(encoding="utf-8")
    options = {name for option in cli.commands["export"].params for name in option.opts if name.startswith("--")}
    missing = {name for name in options if f"{name} " not in text and f"{name}`" not in text}
    assert missing == {"--quiet", "--log-format", "--warehouse"}
    described = re.findall(r"^\| `(\w+)` \| .* \| .* \| .* \|$", text.partition("## From a corpus")[2], re.M)
    assert described == list(registry.corpus_ids())


def test_score_page_describes_every_option_corpus_and_column() -> None:
    text = (DOCS / "score.md").read_text(encoding="utf-8")
    options = {name for option in cli.commands["score"].params for name in option.opts if name.startswith("--")}
    missing = {name for name in options if f"{name} " not in text and f"{name}`" not in text}
    assert not missing
    described = re.findall(r"^\| `(\w+)` \| .* \| .* \| .* \|$", text.partition("## The metrics of")[2], re.M)
    assert described == scored_corpora()
    with duckdb.connect() as con:
        tables.attach(con)
        tables.make(con)
        columns = con.execute("select table_name, column_name from duckdb_columns() where database_name = 'scores'")
        made: dict[str, list[str]] = {}
        for table, column in columns.fetchall():
            made.setdefault(table, []).append(column)
    rows = re.findall(r"^\| `(\w+)` \| .* \| (`run_id`.*) \|$", text, re.M)
    assert {table: re.findall(r"`(\w+)`", names) for table, names in rows} == made


@pytest.mark.parametrize("corpus_id", scored_corpora())
def test_lines_of_the_score_page_are_of_a_form_of_the_corpus(corpus_id: str) -> None:
    scoring = load_scoring(corpus_id)
    lines = blocks("score", "json")
    found = []
    for line in lines:
        for form in scoring.forms:
            with contextlib.suppress(msgspec.ValidationError):
                found.append(msgspec.json.decode(line, type=form.record))
    assert len(found) == (1 if corpus_id != "mutualfriends" else 0)


def test_r_of_the_page_works(folder: Path) -> None:
    (block,) = blocks("query_it", "r")
    if shutil.which("Rscript") is None:
        pytest.skip("no R is installed, so the page's R is not tried")
    if subprocess.run(["Rscript", "-e", "library(duckdb)"], check=False, capture_output=True).returncode:
        pytest.skip("R has no package duckdb, so the page's R is not tried")
    ran = run(folder, "Rscript", "-e", block)
    assert ran.returncode == 0, ran.stderr


@pytest.mark.parametrize("page", PAGES)
def test_queries_of_the_page_have_rows(sample_warehouse: Path, page: str) -> None:
    queries = blocks(page, "sql")
    assert queries or page in ("first_ten_minutes", "score")
    with duckdb.connect(str(sample_warehouse), read_only=True) as con:
        for query in queries:
            assert con.execute(query).fetchall(), query


def test_numbers_of_the_quality_page_are_those_of_the_real_files(real_folder: Path) -> None:
    """Each table is what its query returns; a table with another number would be found."""
    text = quality_page.PAGE.read_text(encoding="utf-8")
    assert len(list(quality_page.queries(text))) == len(blocks("data_quality", "sql"))
    with open_published(WarehousePaths(real_folder)) as con:
        assert quality_page.rewrite(text, con) == text
        assert quality_page.rewrite(text.replace("| bbai | 1850 |", "| bbai | 1851 |"), con) == text


def test_example_of_a_refuted_claim_agrees_with_the_claim() -> None:
    text = (DOCS / "read_a_refuted_claim.md").read_text(encoding="utf-8")
    (claim,) = (claim for claim in claims.load_claims("sgd") if claim.claim_id == "S04")
    reported = dict(re.findall(r"^\| (documented|observed|reason) \| (.*) \|$", text, re.M))
    assert ([[int(reported["documented"])]], [[int(reported["observed"])]]) == (claim.expected, claim.recorded)
    assert reported["reason"].lower().rstrip(".") == (claim.recorded_reason or "").lower().rstrip(".")


def test_notebook_runs_from_a_fresh_clone(folder: Path) -> None:
    notebook = shutil.copy(DOCS / "notebook.py", folder)  # marimo writes files beside it
    ran = run(folder, sys.executable, str(notebook))
    assert (ran.returncode, ran.stderr) == (0, "")
    page = folder / "notebook.html"
    exported = run(folder, "marimo", "export", "html", str(notebook), "-o", str(page))
    assert exported.returncode == 0, exported.stderr
    text = page.read_text(encoding="utf-8")
    for reported in ("What is in the warehouse", "vocabulary_count", "Dialogues by number of turns", "sgd/dev/"):
        assert reported in text
    examples = (folder / "training" / "sgd" / "train.jsonl").read_bytes().splitlines()
    assert examples
    assert all("weight" in json.loads(line)["messages"][-1] for line in examples[:1])


def test_backup_of_the_page_is_restored(sample_folder: Path, tmp_path: Path) -> None:
    """A backup is made while a build leaves temporary files, and is restored where the warehouse was lost.

    It has no copy of the published database, which is written from the build. The source is not lost.
    """
    variables = {"DIALOGUE_WAREHOUSE": tmp_path / "warehouse", "BACKUP": tmp_path / "backup"}
    set_up = "set -e\n" + "".join(f"export {name}={path}\n" for name, path in variables.items())
    shutil.copytree(sample_folder, tmp_path / "warehouse", symlinks=True)
    built = query(tmp_path, "select * from quality.builds")
    (tmp_path / "warehouse" / "builds" / ".20990101T000000000000Z.duckdb.1.tmp").touch()
    back_up, restore, compare, migrate = (
        re.sub("/tmp/new", str(tmp_path / "new"), block) for block in blocks("back_up_and_upgrade", "sh")
    )
    ran = run(tmp_path, "bash", "-c", set_up + back_up)
    assert (ran.returncode, ran.stderr) == (0, "")
    for lost in (tmp_path / "warehouse").iterdir():
        if lost.name != "sample":  # the source of this warehouse
            files.remove(lost)
    assert [path.name for path in (tmp_path / "backup").rglob("*") if path.name.endswith((".tmp", ".lock"))] == []
    ran = run(tmp_path, "bash", "-c", set_up + restore)
    assert (ran.returncode, ran.stderr) == (0, "")
    assert query(tmp_path, "select * from quality.builds") == built
    assert (tmp_path / "warehouse" / "dialogues.duckdb").is_file()
    assert "nothing changed, still published" in run(tmp_path, "dialogue-warehouse", "build").stdout
    ran = run(tmp_path, "bash", "-c", set_up + compare + migrate)
    assert ran.returncode == 0, ran.stderr
    assert ran.stdout.startswith("$DAGSTER_HOME")


def query(folder: Path, text: str) -> str:
    """Return the rows of a query on the warehouse in this folder."""
    return run(folder, "dialogue-warehouse", "sql", "--format", "csv", text).stdout


def test_links_between_the_pages_lead_somewhere() -> None:
    for page in DOCS.glob("*.md"):
        for target in re.findall(r"\]\(([^)# ]+\.\w+)\)", page.read_text(encoding="utf-8")):
            assert re.match("https?://", target) or (DOCS / target).exists(), (page.name, target)
