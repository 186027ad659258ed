"""The benchmarks measure what they say: tiny real runs, and their arithmetic. No time is asserted."""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import duckdb
import pytest

from dialogue_warehouse.common.progress import Reporter
from dialogue_warehouse.corpora import registry
from dialogue_warehouse.paths import WarehousePaths
from dialogue_warehouse.storage import builds
from tests import fixtures, validators
from tests.benchmarks import (
    bench,
    comparison,
    dialogues,
    engines,
    exports,
    floor,
    harness,
    pages,
    repeated,
    report,
    scores,
    targets,
)
from tests.benchmarks.harness import BenchmarkError, Run, Stage, spread
from tests.conftest import CLONE
from tests.integration.browser import find_chromium

TINY = 0.01
PEERS = CLONE / "tests" / "benchmarks" / "peers"


def a_landing(seconds: float) -> Run:
    return Run(seconds + 1, 1.0, 1, json.dumps({"seconds": seconds}))


def a_run(*stages: tuple[str, str, float], seconds: float = 10.0) -> Run:
    return Run(seconds, 1.0, 1, stages=tuple(Stage(kind, name, "", took) for kind, name, took in stages))


@pytest.fixture(scope="module")
def tiny(tmp_path_factory: pytest.TempPathFactory) -> dict:
    """Return results of every measurement for one corpus, which is built once.

    `make bench` builds again where the command here is `status`: for unchanged files, a changed model, a changed file.
    """
    scratch = tmp_path_factory.mktemp("scratch")
    releases, paths = scratch / "releases", WarehousePaths(scratch / "warehouse")
    simulated = bench.generate(releases, TINY, "--corpora", bench.CHANGED_CORPUS)
    part = bench.measure("tiny", releases, 1, scratch, with_commands=False)
    shutil.copy(builds.published_build(paths)[1], paths.build_database("20200101T000000000000Z"))  # for `diff`
    cheap = (*bench.COMMAND, "status", "--warehouse", paths.root)
    follows = bench.measure_what_follows("tiny", releases, cheap, paths, 1, scratch)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(bench, "IMPORTED", {name: bench.IMPORTED[name] for name in ("nothing", "DuckDB")})
        imports = bench.measure_imports(1)
    part |= follows | {"scale": TINY, "simulate": bench.summarize([simulated])}
    return bench.preamble() | {"sample": part["build"], "imports": imports, "sets": [part]}


def test_tiny_benchmark_measures_every_part(tiny) -> None:
    (part,) = tiny["sets"]
    stages = {(stage["kind"], stage["name"]) for stage in part["build"]["stages"]}
    assert stages >= {("land", bench.CHANGED_CORPUS), ("load", "framework"), ("model", "warehouse")}
    commands = ("build", "unchanged", "model_changed", "changed", "verify", "report", "simulate")
    for cost in [*(part[key] for key in commands), *part["commands"].values()]:
        assert cost["seconds"]["median"] > 0
        assert cost["cpu_seconds"]["median"] > 0
    assert part["commands"].keys() == bench.READING.keys()
    assert part["build"]["seconds"]["median"] > part["unchanged"]["seconds"]["median"]
    assert part["build"]["peak_bytes"]["median"] > part["floor"]["peak_bytes"]["median"]
    assert part["build"]["landing_and_models"]["median"] < part["build"]["seconds"]["median"]
    assert min(part["sizes"].values()) > 0
    assert part["build"]["shares"].keys() == {harness.ITSELF, *harness.PROCESSES.values()}
    shares = sum(seconds["median"] for seconds in part["build"]["shares"].values())
    assert 0 < shares <= part["build"]["cpu_seconds"]["median"] * 1.1  # processes are counted once, and in whole ticks
    assert len(part["nodes"]) == bench.SLOWEST
    models = {path.stem for path in (CLONE / "dbt_project").rglob("*.sql")}
    assert models & part["nodes"].keys()
    assert list(part["nodes"].values()) == sorted(part["nodes"].values(), reverse=True)
    assert tiny["imports"]["DuckDB"]["cpu_seconds"]["median"] > tiny["imports"]["nothing"]["cpu_seconds"]["median"]
    assert part["changed_file"].startswith(f"{bench.CHANGED_CORPUS}/")


def test_imports_are_modules_that_there_are() -> None:
    given = [" ".join(arguments) for arguments in bench.IMPORTED.values()]
    modules = [name for text in given for name in re.findall(r"[\w.]+", text.partition(" ")[2].removeprefix("import "))]
    assert {"duckdb", "dagster", "dbt.cli.main", "expectations.validation"} <= set(modules)
    assert [name for name in modules if name != "pass" and find_spec(name) is None] == []


def test_results_are_written_after_each_set_and_sets_of_the_same_day_and_commit_are_kept(
    tiny, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The results of a large scale take hours, and are measured by another run than those of a small one."""
    results, scratch = tmp_path / "results", tmp_path / "scratch"
    (part,) = tiny["sets"]
    written: list[list[float]] = []

    def measured(scale: float, runs: int, folder: Path) -> dict[str, Any]:
        (folder / "file").touch()
        written.append([one["scale"] for file in results.glob("*") for one in json.loads(file.read_text())["sets"]])
        return part | {"scale": scale, "runs": runs}

    monkeypatch.setattr(bench, "measure_sample", lambda *_: tiny["sample"])
    monkeypatch.setattr(bench, "measure_imports", lambda *_: tiny["imports"])
    monkeypatch.setattr(bench, "measure_generated", measured)
    bench.run([1.5, TINY], 3, tmp_path / "no real data", scratch, results)
    result = bench.run([1.5], 3, tmp_path / "no real data", scratch, results)
    assert written == [[], [1.5], [TINY, 1.5]]
    assert [(one["scale"], one["runs"]) for one in result["sets"]] == [(TINY, 3), (1.5, 1)]
    assert list(scratch.iterdir()) == []
    assert json.loads((results / f"{result['date']}-{result['commit']}.json").read_text()) == json.loads(
        json.dumps(result)
    )


def test_tiny_report_shows_each_stage_and_its_origin(tiny) -> None:
    text = report.page(tiny, None)
    for stage in tiny["sets"][0]["build"]["stages"]:
        assert f"| {stage['kind']} {stage['name']} |" in text
    assert tiny["commit"] in text
    assert tiny["machine"]["cpu"] in text
    assert "| build, one model changed |" in text
    assert "| landing |" in text
    assert f"| {next(iter(tiny['sets'][0]['nodes']))} |" in text
    assert "| DuckDB |" in text
    assert "| verify |" in text


def test_engines_are_compared_by_the_corpus_that_landed_longest_and_by_stage() -> None:
    run = a_run(
        ("load", "framework", 2.0), ("land", "a", 1.0), ("land", "b", 1.5), ("model", "warehouse", 3.0),
        ("load", "tables", 4.0), ("audit", "warehouse", 0.5), ("load", "audit", 0.1),
    )  # fmt: skip
    assert engines.row("x", run, 2**30, "yes") == (
        "x", "10.0 s", "1.5", "3.0", "4.0", "0.5", "1 s", "1.0 GiB", "yes",
    )  # fmt: skip


def test_large_releases_are_built_and_nothing_follows(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    reported = []
    monkeypatch.setattr(bench, "generate", lambda *_: a_run())
    monkeypatch.setattr(bench, "measure", lambda *given: reported.append(given[-1]) or {})
    for scale in (bench.REPEATED_SCALE, 2 * bench.REPEATED_SCALE):
        bench.measure_generated(scale, 1, tmp_path)
    assert reported == [True, False]


def test_builds_alone_are_shown_where_nothing_followed(tiny) -> None:
    (part,) = tiny["sets"]
    follows = ("verify", "report", "unchanged", "model_changed", "changed", "changed_file", "commands")
    text = report.page(tiny | {"sets": [{key: value for key, value in part.items() if key not in follows}]}, None)
    assert "| build |" in text
    assert "| verify |" not in text


@pytest.mark.parametrize("corpus_id", fixtures.having("floor.sql"))
def test_floor_has_the_rows_that_a_build_has(sample_folder, sample_warehouse, corpus_id: str) -> None:
    seconds, rows = floor.read_corpus(registry.load_corpus(corpus_id), sample_folder / "sample")
    assert seconds > 0
    counted = floor.core_tables(fixtures.floor_of(corpus_id))
    assert any("core.fct_turns" in query for query in counted.values())
    with duckdb.connect(str(sample_warehouse), read_only=True) as con:
        for table, query in counted.items():
            assert (rows[table],) == con.execute(query).fetchone(), query


@pytest.mark.parametrize("corpus_id", fixtures.having("floor.sql"))
def test_floor_reads_every_entity(corpus_id: str) -> None:
    sections = floor.sections(fixtures.floor_of(corpus_id))
    assert set(sections) == {entity.name for entity in registry.load_corpus(corpus_id).entities}


def test_comparison_runs_a_peer_and_compares_its_rows(tmp_path: Path) -> None:
    (tmp_path / "environments").mkdir()
    (tmp_path / "environments" / "pandas").symlink_to(sys.prefix)
    result = comparison.run([TINY], 1, tmp_path / "none", tmp_path, tmp_path / "results", tmp_path / "environments")
    (part,) = result["sets"]
    found = {peer["library"]: peer for peer in part["peers"]}
    assert found["pandas"]["rows"] == part["ours"]["rows"]
    assert "make bench-peers" in found["polars"]["error"]
    table = report.speed_table(result)
    assert re.search(r"\| pandas `json_normalize` \| [\d.]+ s \| positions of frames, acts and spans \|", table)
    assert "| polars `read_json` | failed |  |" in table
    text = report.peer_report(result)
    assert re.search(r"\| pandas \S+ `json_normalize` \|.*\| the same \|", text)
    assert json.loads((tmp_path / "results" / report.PEERS).read_text())["sets"]


def test_dialogues_in_python_are_measured_and_counted(sample_folder: Path, tmp_path: Path) -> None:
    run = harness.run_command(sys.executable, "-m", "tests.benchmarks.peers.objects", dialogues.OURS, sample_folder)
    query = """
        select
            (select count(*) from core.dim_dialogues where corpus_id = 'sgd'),
            (select count(*) from core.fct_turns where corpus_id = 'sgd'),
            (select count(*) from core.fct_actions where corpus_id = 'sgd')
    """
    with duckdb.connect(str(sample_folder / "dialogues.duckdb"), read_only=True) as con:
        assert tuple(run.result["counts"].values()) == con.execute(query).fetchone()
    ours = dialogues.summarize([run.result, run.result])
    other = ours | {"library": "convokit"}
    text = dialogues.section([ours, other], harness.machine(), 2)
    assert re.search(r"\| convokit \S+ \| [\d.]+ \| [\d.]+ \| [\d,]+ MB \| the JSON files", text)
    with pytest.raises(harness.BenchmarkError, match="convokit counts"):
        dialogues.section([ours, other | {"counts": {"turns": 1}}], harness.machine(), 2)
    with pytest.raises(harness.BenchmarkError, match="is not there"):
        dialogues.measure(sample_folder, sample_folder / "sample" / "sgd", 1, tmp_path)
    assert report.PAGE.read_text(encoding="utf-8").count(dialogues.BEGIN) == 1


def test_exports_are_measured_beside_datasets(sample_folder: Path, tmp_path: Path) -> None:
    """`datasets` writes as many examples as the export; the environment is that of the validators."""
    environments, page = tmp_path / "environments", tmp_path / "page.md"
    environments.mkdir()
    (environments / "datasets").symlink_to(validators.python().parent.parent)
    page.write_text("before\n<!-- exports: begin -->\nold\n<!-- exports: end -->\nbehind\n")
    given = [sample_folder, "--repeats", "1", "--environments", environments, "--page", page]
    assert exports.main(list(map(str, given))) == 0
    text = page.read_text()
    assert text.startswith("before\n")
    assert text.endswith("behind\n")
    assert "old" not in text
    names = re.findall(r"^\| ((?:`export|datasets).*?) \|", text, re.M)
    assert names[:2] == ["`export --form chat`", "`export --form huggingface`"]
    assert [re.sub(r"[\d.]+", "N", name) for name in names[2:]] == [
        "datasets N `from_generator`",
        "datasets N `load_dataset`",
    ]


def test_real_files_are_repeated_with_other_ids_until_the_release_is_as_large(tmp_path: Path) -> None:
    for folder in repeated.FILES:
        (tmp_path / "few" / folder).mkdir(parents=True)
        (tmp_path / "few" / folder / "schema.json").write_text("[]")
        for number in (1, 44):
            found = [{"dialogue_id": f"{number}_00000", "turns": [{"utterance": f"{number}_00000"}]}]
            (tmp_path / "few" / folder / f"dialogues_{number:03}.json").write_text(json.dumps(found))
    repeated.write(tmp_path / "few", tmp_path / "many")
    files = sorted((tmp_path / "many").glob("*/dialogues_*.json"))
    assert len(files) == 137
    dialogues = [dialogue for path in files for dialogue in json.loads(path.read_text())]
    assert len({dialogue["dialogue_id"] for dialogue in dialogues}) == 96  # a folder counts from 1
    assert {dialogue["turns"][0]["utterance"] for dialogue in dialogues} == {"1_00000", "44_00000"}
    with pytest.raises(BenchmarkError, match=r"few/dev: no real files"):
        (tmp_path / "few" / "dev" / "dialogues_001.json").unlink()
        (tmp_path / "few" / "dev" / "dialogues_044.json").unlink()
        repeated.write(tmp_path / "few", tmp_path / "again")


def test_scores_are_measured_beside_plain_python(
    edited_folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    page, release = tmp_path / "page.md", edited_folder / "releases" / "sgd"
    page.write_text(f"before\n{scores.BEGIN}\nstale\n{scores.END}\nbehind\n")
    given = [str(edited_folder), str(release), "--repeats", "1", "--page", str(page)]
    assert scores.main(given) == 0
    text = page.read_text()
    assert (text.startswith("before\n"), text.endswith("behind\n"), "stale" in text) == (True, True, False)
    assert re.findall(r"^\| (`score`|plain Python): .* \| [\d.]+ \| [\d.]+ \| [\d,]+ MB \| all metrics", text, re.M) == [
        "`score`", "plain Python", "plain Python",
    ]  # fmt: skip
    assert report.PAGE.read_text(encoding="utf-8").count(scores.BEGIN) == 1
    monkeypatch.setattr(scores, "METRIC", "average_goal_accuracy")  # the processes compute what they did before
    assert scores.main(given) == 2
    assert "average_goal_accuracy is " in capsys.readouterr().err


def test_every_peer_has_a_script_and_exact_pins() -> None:
    libraries = {library for library, _ in comparison.WAYS}
    assert {path.stem.removeprefix("read_with_") for path in PEERS.glob("*.txt")} == libraries
    for library in libraries:
        pins = (PEERS / f"read_with_{library}.txt").read_text(encoding="utf-8").split()
        assert all(re.fullmatch(r"[a-z-]+==[\d.]+", pin) for pin in pins)
        script = (PEERS / f"read_with_{library}.py").read_text(encoding="utf-8")
        assert [way for of, way in comparison.WAYS if of == library and f'"{way}"' not in script] == []


def test_row_difference_of_a_peer_is_named() -> None:
    assert (
        report.row_agreement({"turns": 9, "spans": 4}, {"turns": 10, "spans": 4, "frames": 3}) == "turns -1, frames -3"
    )
    assert report.row_agreement({"turns": 10}, {"turns": 10}) == "the same"


def test_stage_lines_are_read_as_the_reporter_writes_them(capsys) -> None:
    reporter = Reporter(quiet=False)
    for kind, name, detail in (
        ("land", "sgd", "137 files, 17,193 records"),
        ("simulate", "scale 0.5", "203 files"),
        ("reconsider", "warehouse", ""),
    ):
        with reporter.stage(kind, name) as stage:
            stage.detail = detail
    text = capsys.readouterr().err
    assert harness.parse_stages(f"warning: 3 s\n{text}error: nothing took 4.0 s at all\n") == (
        Stage("land", "sgd", "137 files, 17,193 records", 0.0),
        Stage("simulate", "scale 0.5", "203 files", 0.0),
        Stage("reconsider", "warehouse", "", 0.0),
    )


def test_build_is_summed_up_by_kind_and_what_no_stage_accounts_for() -> None:
    run = a_run(
        ("load", "framework", 2.0), ("land", "a", 1.0), ("land", "b", 0.5), ("model", "x", 3.0), ("audit", "x", 1.0)
    )
    summary = bench.summarize_builds([run], [a_landing(4.0)])
    assert summary["landing"]["median"] == 4.0
    assert summary["landing_and_models"]["median"] == 7.0
    assert summary["outside_stages"]["median"] == 4.0  # landing continues in parallel


def test_stages_of_several_runs_are_matched_by_name_and_repeats_added() -> None:
    first = a_run(("land", "a", 1.0), ("land", "a", 1.0), ("model", "x", 5.0))
    second = a_run(("land", "a", 4.0))
    assert [(stage["name"], stage["seconds"]) for stage in bench.summarize_stages([first, second])] == [
        ("a", {"median": 3.0, "min": 2.0, "max": 4.0, "runs": 2}),
        ("x", {"median": 2.5, "min": 0.0, "max": 5.0, "runs": 2}),
    ]


def test_build_without_the_stages_to_compare_is_refused() -> None:
    with pytest.raises(BenchmarkError, match="no stage 'model'"):
        bench.summarize_builds([a_run(("land", "a", 1.0))], [a_landing(1.0)])


def test_spread_and_ratio() -> None:
    assert spread([3, 1, 2]) == {"median": 2, "min": 1, "max": 3, "runs": 3}
    assert harness.ratio(spread([6, 9]), spread([3])) == 2.5


def test_targets_are_met_or_not(tiny) -> None:
    assert [target.name for target in targets.of_builds(tiny)] == [
        "embedded sample, from the command to the published file",
        "of which models",
    ]
    part = tiny["sets"][0]
    one = part | {"scale": 1.0, "queries": {"slow": {"seconds": spread([0.5])}, "broken": {"error": "no table"}}}
    ten = part | {"scale": 10.0, "build": part["build"] | {"seconds": spread([1e9])}}
    held = targets.of_builds(tiny | {"sets": [one, ten]})
    met = {target.name.rpartition(": ")[2]: target.is_met for target in held}
    assert met["peak memory"]
    assert not met["whole build, scale 10 / scale 1"]
    assert not met["query `slow`"]
    assert not [name for name in met if "broken" in name]
    assert met.keys() >= {f"`{name}` from the shell" for name in bench.READING}
    assert "| ≤ 0.1 s | 0.50 s | **no** |" in targets.table(held)


def test_target_beside_the_quickest_peer_is_held_where_it_was_measured() -> None:
    def part(scale: float | None, ours: float, **peer: object) -> dict[str, Any]:
        built = {"landing_and_models": spread([ours])}
        return {"name": "of it", "scale": scale, "ours": built, "peers": [{"library": "polars"} | peer]}

    measured = {"seconds": spread([10.0])}
    peers = {
        "sets": [part(None, 20, **measured), part(1, 9, **measured), part(1, 9, error="no"), part(7, 9, **measured)]
    }
    assert [(target.measured, target.is_met) for target in targets.of_peers(peers)] == [(2.0, True), (0.9, False)]


def test_query_is_timed_and_a_failure_is_reported(sample_warehouse, tmp_path: Path) -> None:
    (tmp_path / "turns.sql").write_text("select count(*) from core.fct_turns")
    (tmp_path / "wrong.sql").write_text("select count(*) from core.no_such_table")
    times = bench.time_queries(sample_warehouse, tmp_path)
    assert times["turns"]["seconds"]["runs"] == bench.QUERY_RUNS
    assert "no_such_table" in times["wrong"]["error"]


def test_every_process_of_a_command_is_measured() -> None:
    child = "block = bytearray(300_000_000); import time; time.sleep(0.5); sum(range(10_000_000))"
    run = harness.run_command(
        sys.executable, "-c", f"import subprocess, sys; subprocess.run([sys.executable, '-c', {child!r}])"
    )
    assert run.peak_bytes > 300_000_000
    assert run.cpu_seconds > 0.1
    assert harness.session_bytes(2**31 - 1) == 0


def test_result_of_a_command_is_printed_after_the_output_of_duckdb() -> None:
    assert Run(1.0, 1.0, 1, '\n\r 37% done\r100% done\n{"seconds": 2.5}\n').result == {"seconds": 2.5}


def test_command_that_fails_is_named() -> None:
    with pytest.raises(BenchmarkError, match=r"ended with 2: .*no such folder"):
        harness.run_command(*bench.COMMAND, "build", "--source", "no/such/folder")


def test_too_little_disk_is_reported_before_anything_runs(tmp_path: Path) -> None:
    with pytest.raises(BenchmarkError, match="SCRATCH"):
        bench.check_disk(tmp_path, [1e9])
    assert "are free" in bench.check_disk(tmp_path, [TINY])


def test_section_between_the_markers_is_replaced_and_nothing_else(tmp_path: Path) -> None:
    file = tmp_path / "page.md"
    file.write_text(f"before\n{report.BEGIN}\nold\n{report.END}\nafter\n")
    assert report.rewrite(file, r"new \1") == f"before\n{report.BEGIN}\nnew \\1\n{report.END}\nafter\n"
    file.write_text("before\nafter\n")
    with pytest.raises(BenchmarkError, match="has no"):
        report.rewrite(file, "new")
    assert report.rewrite(report.PAGE, "new") != report.PAGE.read_text(encoding="utf-8")


def test_origin_is_said_once_for_one_machine(tiny) -> None:
    busy = tiny | {"machine": tiny["machine"] | {"load_average": [9.0]}}
    other = tiny | {"machine": tiny["machine"] | {"cpu": "another"}}
    assert "load average 9.0, on the same machine." in report.origin(busy, tiny)
    assert "another" in report.origin(other, tiny)


def test_newest_results_are_the_ones_that_were_finished_last(tmp_path: Path) -> None:
    assert report.newest(tmp_path) is None
    for number, finished in enumerate(("2026-01-02", "2026-01-03", "2026-01-01")):
        (tmp_path / f"{number}.json").write_text(json.dumps({"finished_at": finished}))
    (tmp_path / report.PEERS).write_text("{}")
    assert report.newest(tmp_path) == {"finished_at": "2026-01-03"}


def test_pages_are_measured_with_one_client_and_with_several(
    sample_folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if find_chromium() is None:
        pytest.skip("no Chromium is installed")
    page = tmp_path / "page.md"
    page.write_text(f"before\n{pages.BEGIN}\nstale\n{pages.END}\nbehind\n")
    for name, value in {"STARTS": 1, "CROWD": 3, "ROUNDS": 1}.items():
        monkeypatch.setattr(pages, name, value)
    assert pages.main([str(sample_folder), "--repeats", "1", "--page", str(page)]) == 0
    text = page.read_text()
    assert (text.startswith("before\n"), text.endswith("behind\n"), "stale" in text) == (True, True, False)
    opened = re.findall(
        r"^\| (.*?) \| [\d.]+ s \| [\d.]+ s \| \d+ ms \| [\d,]+ KB \| [\d.]+ s \| [\d.]+ s \|$", text, re.M
    )
    assert opened == list(pages.all_pages(sample_folder / "dialogues.duckdb"))
    assert re.findall(r"^\| (1 client|3 clients) \| \d+ \| [\d.]+ s \| [\d.]+ s \| 0 \| [\d,]+ MB \| [\d,]+ MB \|$", text, re.M) == [
        "1 client", "3 clients",
    ]  # fmt: skip
    assert report.PAGE.read_text(encoding="utf-8").count(pages.BEGIN) == 1


def test_page_that_is_not_answered_ends_the_measurement(sample_folder: Path) -> None:
    with pytest.raises(BenchmarkError, match="/nowhere is answered with 404"):
        pages.measure_crowd(sample_folder, [["nowhere"]], 2, 1)


def test_memory_that_processes_share_counts_once() -> None:
    code = "import os, time; block = bytearray(100_000_000); os.fork(); os.write(1, b'%d\\n' % os.getpid()); time.sleep(60)"
    with subprocess.Popen([sys.executable, "-c", code], start_new_session=True, stdout=subprocess.PIPE) as started:
        try:
            assert started.stdout is not None
            pids = {int(started.stdout.readline()) for _ in range(2)}
            seen = list(harness.processes(started.pid))
            assert {process.pid for process in seen} == pids
            assert sum(process.bytes for process in seen) > 200_000_000
            assert 100_000_000 < sum(process.shared_bytes() for process in seen) < 150_000_000
        finally:
            os.killpg(started.pid, signal.SIGKILL)


def test_packages_of_the_dashboard_are_a_part_of_the_light_install() -> None:
    assert 0 < pages.installed_bytes(pages.SERVED) < pages.installed_bytes() / 2
    assert pages.installed_bytes(["nothing"]) == 0
