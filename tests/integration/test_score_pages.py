"""The pages of scores: runs and one run, served and in the report, and files that cannot be shown."""

from __future__ import annotations

import html
import re
import shutil
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

import duckdb
import pytest
from starlette.testclient import TestClient

from dialogue_warehouse.corpora.scores import load_scoring, scored_corpora
from dialogue_warehouse.errors import InputError
from dialogue_warehouse.paths import WarehousePaths
from dialogue_warehouse.reading.connection import open_published
from dialogue_warehouse.reading.dialogues import read_dialogue
from dialogue_warehouse.reading.findings import read_rows
from dialogue_warehouse.settings import Settings
from dialogue_warehouse.site import scores
from dialogue_warehouse.site.application import application
from dialogue_warehouse.storage import builds
from tests.conftest import run_command
from tests.integration.site_pages import HOME, Page, main_of, opened

CORPORA = scored_corpora()


@pytest.fixture(scope="module")
def con(edited_folder: Path, scored_results: Path) -> Iterator[duckdb.DuckDBPyConnection]:
    with open_published(WarehousePaths(edited_folder), scores=scored_results) as con:
        yield con


@pytest.fixture(scope="module")
def client(edited_folder: Path, scored_results: Path) -> Iterator[TestClient]:
    with TestClient(application(WarehousePaths(edited_folder), Settings(), scores=scored_results), HOME) as client:
        yield client


@pytest.fixture(scope="module")
def report(edited_folder: Path, scored_results: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    to = tmp_path_factory.mktemp("report") / "site"
    completed = run_command("report", "--warehouse", edited_folder, "--scores", scored_results, "--to", to)
    assert (completed.returncode, completed.stderr) == (0, "")
    return to


def run_ids(con: duckdb.DuckDBPyConnection) -> dict[str, list[str]]:
    """Return the runs by corpus, the one with the paired test last."""
    found = con.execute(
        "select corpus_id, list(run_id order by exists(from scores.comparisons where run_id = runs.run_id))"
        " from scores.runs as runs group by corpus_id order by corpus_id"
    )
    return dict(found.fetchall())


def test_every_run_is_on_the_page_and_the_list_is_a_query(client: TestClient, con: duckdb.DuckDBPyConnection) -> None:
    text = opened(client, "/scores.html")
    assert '<a href="scores.html" aria-current="page">Scores</a>' in text
    boards = scores.boards(con)
    assert [board.corpus_id for board in boards] == CORPORA
    for board in boards:
        declared = load_scoring(board.corpus_id).declaration
        assert (board.metric, board.group) == (declared.main_metric, declared.main_groups[0])
        assert {row["run_id"] for row in board.rows} == set(run_ids(con)[board.corpus_id])
        assert board.query in html.unescape(text)
        assert read_rows(con, board.query) == board.rows
        for variant in declared.variants or [None]:
            strict = [row["strict_value"] for row in board.rows if row["variant"] == variant]
            assert strict == sorted(strict, reverse=True)
    links = Page(text).links
    assert all(f"scores.html?run={run_id}" in links for ids in run_ids(con).values() for run_id in ids)


@pytest.mark.parametrize("corpus_id", CORPORA)
def test_list_has_the_metric_that_the_address_asks_for(
    client: TestClient, con: duckdb.DuckDBPyConnection, corpus_id: str
) -> None:
    ((split,),) = con.execute("select distinct split from scores.runs where corpus_id = ?", [corpus_id]).fetchall()
    metric = list(load_scoring(corpus_id).declaration.metrics)[-1]
    text = opened(client, f"/scores.html?corpus={corpus_id}&split={split or ''}&metric={metric}")
    assert f"<option selected>{metric}</option>" in text
    others = [load_scoring(other).declaration.main_metric for other in CORPORA if other != corpus_id]
    assert all(f"<option selected>{other}</option>" in text for other in others)
    assert opened(client, f"/scores.html?corpus={corpus_id}&metric=luck")


@pytest.mark.parametrize("corpus_id", CORPORA)
def test_run_has_its_numbers_and_its_errors_open(
    client: TestClient, con: duckdb.DuckDBPyConnection, corpus_id: str
) -> None:
    for run_id, has_test in zip(run_ids(con)[corpus_id], (False, True), strict=True):
        text = opened(client, f"/scores.html?run={run_id}")
        shown = scores.read_run(con, run_id)
        assert (
            len(shown.metrics)
            == con.execute("select count(*) from scores.metrics where run_id = ?", [run_id]).fetchone()[0]
        )
        for row in shown.metrics:
            assert all(
                f"{row[name]:.6f}" in text for name in ("value", "strict_value", "gold_value") if row[name] is not None
            )
        assert bool(shown.comparisons) == has_test == ('id="against-' in text)
        assert all(html.escape(notice["problem"], quote=False) in html.unescape(text) for notice in shown.notices)
        examples = [slot["outcomes"][name] for slot in shown.slots for name in scores.ERRORS if slot["outcomes"][name]]
        assert bool(examples) == ("slots" in load_scoring(corpus_id).queries)
        assert all(one["is_there"] for one in examples)
        if examples:
            key = examples[0]["example_key"]
            link = next(link for link in Page(text).links if link.partition("#")[0] == f"dialogues?key={key}")
            assert ("data-marked" in opened(client, f"/{link}")) == ("#turn-" in link)


@pytest.mark.parametrize("corpus_id", CORPORA)
def test_units_below_1_are_listed_in_parts(client: TestClient, con: duckdb.DuckDBPyConnection, corpus_id: str) -> None:
    run_id = run_ids(con)[corpus_id][0]
    for choice in scores.read_run(con, run_id).units.choices:
        metric, _, variant = choice.partition("/")
        wrong = {
            key
            for (key,) in con.execute(
                "select unit_key from scores.units where run_id = ? and metric = ? and coalesce(variant, '') = ?"
                " and not (is_scored and numerator >= denominator)",
                [run_id, metric, variant],
            ).fetchall()
        }
        found: list[str] = []
        first = scores.read_run(con, run_id, {"metric": choice}).units.paging
        for page in range(1, first.pages + 1):
            units = scores.read_run(con, run_id, {"metric": choice, "page": str(page)}).units
            found += [unit["unit_key"] for unit in units.rows]
        assert len(found) == len(wrong) == first.total
        assert set(found) == wrong
    text = opened(client, f"/scores.html?run={run_id}&metric={choice}&page=1")
    assert f"<option selected>{choice}</option>" in text
    assert '<h2 id="units">Units below 1</h2>' in text, "a unit of success_per_turn does not reach 1, but is right"


@pytest.mark.parametrize("corpus_id", [name for name in CORPORA if load_scoring(name).declaration.has_split])
def test_show_opens_the_key_of_an_error(
    edited_folder: Path, client: TestClient, con: duckdb.DuckDBPyConnection, corpus_id: str
) -> None:
    run = scores.read_run(con, run_ids(con)[corpus_id][0])
    keys = [*scores.example_keys([run])[:5], *(unit["turn_key"] or unit["unit_key"] for unit in run.units.rows[:5])]
    for key in keys:
        dialogue = read_dialogue(con, key)
        assert key == dialogue.key or dialogue.mark.key == key
    linked = Page(opened(client, f"/scores.html?run={run.row['run_id']}")).links
    assert all(any(link.startswith(f"dialogues?key={key}") for link in linked) for key in keys)
    shown = run_command("show", keys[0], "--warehouse", edited_folder)
    assert shown.returncode == 0, shown.stderr
    assert "/".join(keys[0].split("/")[:3]) in shown.stdout


def test_report_has_the_same_pages(
    client: TestClient, con: duckdb.DuckDBPyConnection, report: Path, edited_folder: Path
) -> None:
    ids = [run_id for ids in run_ids(con).values() for run_id in ids]
    pages = [scores.NAME, *(scores.run_page(run_id) for run_id in ids)]
    assert {path.name for path in report.glob("*.html")} >= set(pages)
    assert f'href="{scores.NAME}"' in (report / "index.html").read_text("utf-8")
    for run_id in ids:
        written = (report / scores.run_page(run_id)).read_text("utf-8")
        served = opened(client, f"/scores.html?run={run_id}")
        for table in ("Metrics of the main groups", "Metrics of the other groups"):
            assert table_of(written, table) == table_of(served, table)
    opens = 0
    for name in pages:
        for link in Page((report / name).read_text("utf-8")).links:
            page, _, at = link.partition("#")
            if link.startswith("http"):
                continue
            assert (report / (page or name)).is_file(), link
            if page.startswith("dialogue-"):
                opens += 1
                assert not at or f'id="{at}"' in (report / page).read_text("utf-8"), link
    assert opens
    again = run_command("report", "--warehouse", edited_folder, "--to", report)
    assert again.returncode == 0, again.stderr
    assert not list(report.glob("run-*")) and not (report / scores.NAME).exists()


def table_of(text: str, label: str) -> str | None:
    found = re.search(rf'aria-label="{label}".*?</table>', main_of(text), re.DOTALL)
    return found and found[0]


def test_results_can_be_asked_in_sql(client: TestClient, con: duckdb.DuckDBPyConnection) -> None:
    text = opened(client, "/sql?query=select+run_id+from+scores.runs+order+by+all")
    assert all(f">{run_id}<" in text for ids in run_ids(con).values() for run_id in ids)
    assert "<code>scores.metrics</code>" in text


def test_server_without_a_file_says_how_to_have_scores(edited_folder: Path) -> None:
    with TestClient(application(WarehousePaths(edited_folder), Settings()), HOME) as client:
        assert "dashboard --scores FILE" in html.unescape(opened(client, "/scores.html", status=404))
        assert 'href="scores.html"' not in opened(client, "/")


def test_unknown_run_is_named(client: TestClient) -> None:
    assert "no run nothing" in opened(client, "/scores.html?run=nothing", status=404)


@pytest.fixture
def of_another_build(scored_results: Path, tmp_path: Path) -> Path:
    """Return a copy of the file whose runs are about another build, and about dialogues that this one lacks."""
    file = tmp_path / "other.duckdb"
    shutil.copyfile(scored_results, file)
    with duckdb.connect(str(file)) as con:
        con.execute("update runs set build_id = 'another'")
        con.execute(
            "update units set dialogue_key = dialogue_key || 'x', turn_key = replace(turn_key, dialogue_key, dialogue_key || 'x'), unit_key = replace(unit_key, dialogue_key, dialogue_key || 'x')"
        )
        con.execute("update slots set example_key = replace(example_key, '/', '/x')")
    return file


def test_keys_that_the_build_lacks_are_marked_and_named(edited_folder: Path, of_another_build: Path) -> None:
    paths = WarehousePaths(edited_folder)
    (notice,) = scores.check(paths, Settings(), of_another_build)
    build_id, _ = builds.published_build(paths)
    runs = 2 * len(CORPORA)
    assert re.fullmatch(
        rf".*other\.duckdb: {runs} runs are about another build than the published one; build {build_id} lacks [\d,]+ dialogues of them",
        notice,
    )
    with (
        open_published(paths, scores=of_another_build) as con,
        TestClient(application(paths, Settings(), scores=of_another_build), HOME) as client,
    ):
        for corpus_id, ids in run_ids(con).items():
            text = opened(client, f"/scores.html?run={ids[0]}")
            assert "This run is about build <code>another</code>" in text
            has_keys = load_scoring(corpus_id).declaration.has_split
            assert ("not in this build</span>" in text) == has_keys
            assert not [link for link in Page(text).links if link.startswith("dialogues?")]
    completed = run_command(
        "report", "--warehouse", edited_folder, "--scores", of_another_build, "--to", of_another_build.parent / "site"
    )
    assert (completed.returncode, completed.stderr) == (0, f"{notice}\n")


def test_units_that_the_build_lacks_are_in_the_order_of_their_turns(
    edited_folder: Path, of_another_build: Path
) -> None:
    """Turn 10 comes after turn 9, whether or not the build has them."""
    with open_published(WarehousePaths(edited_folder), scores=of_another_build) as con:
        for ids in run_ids(con).values():
            turns: dict[tuple[bool, str], list[int]] = defaultdict(list)
            for unit in scores.read_run(con, ids[0]).units.rows:
                dialogue, _, turn = (unit["turn_key"] or "").rpartition("/")
                turns[unit["is_scored"], dialogue] += [int(turn)] if turn else []
            assert all(found == sorted(found) for found in turns.values())


def wrong_files(folder: Path) -> dict[str, tuple[Path, str]]:
    """Return files that are not results, each with its error."""
    text, empty, other, older = (folder / name for name in ("text", "empty", "other", "older"))
    text.write_text("{}", encoding="utf-8")
    empty.touch()
    for file, statement in ((other, "create table t (a int)"), (older, "create table runs (run_id varchar)")):
        with duckdb.connect(str(file)) as con:
            con.execute(statement)
    return {
        "text": (text, "is not a file of results, or is in use: "),
        "empty": (empty, "is not a file of results"),
        "other": (other, "is not a file of results: it has no table runs"),
        "older": (older, "is not a file of results of this version: it lacks runs.corpus_id"),
        "none": (folder / "none", "there is no such file of results; `score --to "),
    }


@pytest.mark.parametrize("name", ["text", "empty", "other", "older", "none"])
def test_file_that_is_not_results_is_refused_in_one_line(edited_folder: Path, tmp_path: Path, name: str) -> None:
    file, error = wrong_files(tmp_path)[name]
    for command in ("report", "dashboard"):
        to = ("--to", tmp_path / "site") if command == "report" else ("--port", 1)
        completed = run_command(command, "--warehouse", edited_folder, "--scores", file, *to)
        assert (completed.returncode, completed.stdout) == (2, "")
        assert completed.stderr.startswith(f"error: {file}: {error}")
        assert completed.stderr.count("\n") == 1
    assert not (tmp_path / "site").exists()


BLOCK = 1 << 18
"""Bytes of a block of DuckDB's files."""


def test_damaged_file_is_named_wherever_the_damage_is(
    edited_folder: Path, scored_results: Path, tmp_path: Path
) -> None:
    paths, content = WarehousePaths(edited_folder), scored_results.read_bytes()
    errors = []
    for block in range(len(content) // BLOCK):
        file = tmp_path / f"damaged{block}.duckdb"
        at = 3 * 4096 + block * BLOCK + 1000
        file.write_bytes(content[:at] + bytes(byte ^ 0xFF for byte in content[at : at + 64]) + content[at + 64 :])
        try:
            scores.check(paths, Settings(), file)
        except InputError as error:
            assert "\n" not in str(error)
            assert str(error).startswith(f"{file}: is ")
            errors.append(str(error))
            with (
                pytest.raises(InputError, match=rf"^{re.escape(str(file))}: is "),
                open_published(paths, scores=file) as con,
                scores.reading(con, file),
            ):
                for table in ("runs", "metrics", "units", "slots", "comparisons", "notices"):
                    con.execute(f"select max(hash(one)) from scores.{table} as one").fetchall()
    assert any(": is damaged: " in error for error in errors)
