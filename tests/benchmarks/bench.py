"""`make bench`: build the warehouse as a user would, measure the floor as well, and record both.

Every command is a separate process, and every full build has a new warehouse, so that nothing is cached. Floor and
build run in turns, so that other work of the machine affects both. Results are written to
`warehouse/bench/<date>-<commit>.json`; `tests.benchmarks.report` makes a page of them.
"""

from __future__ import annotations

import argparse
import importlib.metadata
import json
import platform
import shutil
import sys
import tempfile
import time
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import duckdb

from dialogue_warehouse.corpora import registry
from dialogue_warehouse.paths import DBT_LAST_PARSE, WarehousePaths
from dialogue_warehouse.releases import finding
from pipelines.dagster_graph.instance import open_instance
from tests.benchmarks import harness, targets
from tests.benchmarks.harness import CLONE, BenchmarkError, Run, spread

COMMAND = (sys.executable, "-m", "dialogue_warehouse")
QUERIES = CLONE / "warehouse" / "queries"
QUERY_RUNS = 5
REPEATED_SCALE = 1
"""Up to this scale everything is repeated as requested; above it, the build runs only once."""
DISK_PER_SCALE = 3 * 2**30
"""Size in bytes of the releases, the raw layer, three kept builds and a running one at scale 1, rounded up."""
CHANGED_CORPUS = "sgd"
CHANGED_MODEL = Path("dbt_project", "models", "marts", "core", "fct_turns.sql")
READING = {
    "tables": (),
    "describe": ("fct_turns",),
    "sql": ("select count(*) from fct_turns",),
    "show": ("{key}",),
    "trace": ("{key}",),
    "claims": (),
    "violations": (),
    "status": (),
    "diff": (),
}
"""The commands that read, with their arguments; the key is that of a turn."""
IMPORTED = {
    "nothing": ("-c", "pass"),
    "DuckDB": ("-c", "import duckdb"),
    "Dagster": ("-c", "import dagster"),
    "dbt and its adapter": ("-c", "import dbt.cli.main, dbt.adapters.duckdb"),
    "Great Expectations, as the audit imports it": ("-m", "expectations.validation"),
}
"""The slow imports of a build, each measured in a separate process."""
SLOWEST = 15
"""Number of models that are shown."""
PACKAGES = ("duckdb", "dbt-core", "dbt-duckdb", "dagster", "great-expectations", "msgspec", "pyarrow")


def say(text: str) -> None:
    """Print the progress of the benchmark."""
    print(f"{datetime.now():%H:%M:%S} {text}", file=sys.stderr, flush=True)


def generate(to: Path, scale: float, *options: object) -> Run:
    """Generate releases; replace those that were generated earlier."""
    return harness.run_command(*COMMAND, "simulate", "--to", to, "--scale", scale, *options)


def copy_real(folder: Path, to: Path) -> None:
    """Copy the available files of the real releases, because one of them will be changed."""
    for corpus_id in registry.corpus_ids():
        if (folder / corpus_id).is_dir():
            shutil.copytree(folder / corpus_id, to / corpus_id, copy_function=shutil.copyfile)


def land(source: Path, folder: Path, *options: object) -> Run:
    """Land only the releases below a folder, into a new folder that is removed afterwards."""
    run = harness.run_command(sys.executable, "-m", "tests.benchmarks.land", source, "--warehouse", folder, *options)
    shutil.rmtree(folder)
    return run


def warm(files: Iterable[Path]) -> None:
    """Read files into the page cache, so that all measurements start equally."""
    for file in files:
        file.read_bytes()


def measure_generated(scale: float, runs: int, scratch: Path) -> dict[str, Any]:
    """Measure everything on releases that are generated at a scale."""
    say(f"scale {scale:g}: simulate")
    simulated = summarize([generate(scratch / "releases", scale) for _ in range(runs)])
    measured = measure(f"generated, scale {scale:g}", scratch / "releases", runs, scratch, scale <= REPEATED_SCALE)
    return measured | {"scale": scale, "simulate": simulated}


def measure_real(folder: Path, runs: int, scratch: Path) -> dict[str, Any]:
    """Measure everything on the available files of the real releases."""
    copy_real(folder, scratch / "releases")
    return measure("real, in part", scratch / "releases", runs, scratch) | {"scale": None, "simulate": None}


def measure_sample(runs: int, scratch: Path) -> dict[str, Any]:
    """Measure the build of the embedded sample, which a new user waits for."""
    say("embedded sample")
    warehouse = scratch / "warehouse"
    builds = []
    for _ in range(runs):
        shutil.rmtree(warehouse, ignore_errors=True)
        builds.append(harness.run_command(*COMMAND, "build", "--warehouse", warehouse))
    return summarize(builds)


def measure(name: str, source: Path, runs: int, scratch: Path, with_commands: bool = True) -> dict[str, Any]:
    """Measure floor, builds and queries on the releases below `source`, and, if requested, further builds and commands."""
    files = [
        release.folder / path
        for release in (finding.find_release(corpus, source) for corpus in registry.load_corpora())
        for _, path in release.files
    ]
    warm(files)
    warehouse = scratch / "warehouse"
    build = (*COMMAND, "build", "--source", source, "--warehouse", warehouse)
    floors, landings, builds = [], [], []
    for number in range(1, runs + 1):
        shutil.rmtree(warehouse, ignore_errors=True)
        say(f"{name}: floor, landing and build, run {number} of {runs}")
        floors.append(harness.run_command(sys.executable, "-m", "tests.benchmarks.floor", source))
        landings.append(land(source, scratch / "landed"))
        builds.append(harness.run_command(*build))
    paths = WarehousePaths(warehouse)
    result = {
        "name": name,
        "runs": runs,
        "files": len(files),
        "floor": summarize_floor(floors),
        "build": summarize_builds(builds, landings),
        "rows": core_rows(paths.published),
        "sizes": {
            "release": sum(file.stat().st_size for file in files),
            "raw": harness.folder_bytes(paths.raw, "*.parquet"),
            "database": paths.published.stat().st_size,
        },
        "queries": time_queries(paths.published, QUERIES),
        "nodes": slowest_nodes(paths),
    }
    return result | (measure_what_follows(name, source, build, paths, runs, scratch) if with_commands else {})


def measure_what_follows(
    name: str, source: Path, build: Sequence[object], paths: WarehousePaths, runs: int, scratch: Path
) -> dict[str, Any]:
    """Measure further builds and every command on an existing warehouse; a file of its source is changed."""
    say(f"{name}: verify, report, unchanged build, build with one model changed, with one file changed, commands")
    result: dict[str, Any] = {
        command: summarize([harness.run_command(*COMMAND, command, *within(paths)) for _ in range(runs)])
        for command in ("verify", "report")
    }
    result["unchanged"] = summarize([harness.run_command(*build) for _ in range(runs)])
    result["model_changed"] = summarize(change_a_model(build[len(COMMAND) :], runs, scratch / "clone"))
    changed = []
    for _ in range(runs):
        result["changed_file"] = change_one_file(source).relative_to(source).as_posix()
        changed.append(harness.run_command(*build))
    result["changed"] = summarize(changed)
    result["commands"] = measure_commands(paths, runs)  # now that there are two builds to compare
    return result


def slowest_nodes(paths: WarehousePaths) -> dict[str, float]:
    """Return the seconds of the slowest published tables of the last build; those made in parallel share the cores."""
    with open_instance(paths, say) as instance:
        seconds: dict[str, float] = {}
        for key in instance.get_asset_keys():
            event = instance.get_latest_materialization_event(key)
            if event and event.asset_materialization and "seconds" in event.asset_materialization.metadata:
                seconds[key.path[-1]] = float(event.asset_materialization.metadata["seconds"].value)
    return dict(sorted(seconds.items(), key=lambda node: -node[1])[:SLOWEST])


def measure_imports(runs: int) -> dict[str, Any]:
    """Return the cost of each import."""
    return {
        name: summarize([harness.run_command(sys.executable, *arguments) for _ in range(runs)])
        for name, arguments in IMPORTED.items()
    }


def within(paths: WarehousePaths) -> tuple[str, Path]:
    """Return the option that names a warehouse."""
    return "--warehouse", paths.root


def measure_commands(paths: WarehousePaths, runs: int) -> dict[str, Any]:
    """Return the cost of each command that reads, from the shell."""
    with duckdb.connect(str(paths.published), read_only=True) as con:
        ((key,),) = con.execute("select min(turn_key) from core.fct_turns").fetchall()
    return {
        name: summarize(
            [
                harness.run_command(*COMMAND, name, *(text.format(key=key) for text in given), *within(paths))
                for _ in range(runs)
            ]
        )
        for name, given in READING.items()
    }


def change_a_model(build: Sequence[object], runs: int, clone: Path) -> list[Run]:
    """Build with a copy of this clone, each time with one model changed; dbt's stored parse results are available."""
    for name in harness.git("ls-files").splitlines():
        (clone / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(CLONE / name, clone / name)
    shutil.copytree(DBT_LAST_PARSE.parent, clone / DBT_LAST_PARSE.parent.relative_to(CLONE))
    measured = []
    for number in range(runs):
        with (clone / CHANGED_MODEL).open("a", encoding="utf-8") as model:
            model.write(f"{{#- {number} -#}}\n")
        measured.append(harness.run_command(*COMMAND, *build, cwd=clone))
    shutil.rmtree(clone)
    return measured


def summarize(runs: list[Run]) -> dict[str, Any]:
    """Return the spread of the costs of a command."""
    return {name: spread(getattr(run, name) for run in runs) for name in ("seconds", "cpu_seconds", "peak_bytes")} | {
        "stages": summarize_stages(runs)
    }


def summarize_stages(runs: list[Run]) -> list[dict[str, Any]]:
    """Return the spread of every stage, in the order of the first run; two lines of one stage are added."""
    totals: list[dict[tuple[str, str], float]] = []
    details: dict[tuple[str, str], str] = {}
    for run in runs:
        seconds: dict[tuple[str, str], float] = {}
        for stage in run.stages:
            key = (stage.kind, stage.name)
            seconds[key] = seconds.get(key, 0.0) + stage.seconds
            details.setdefault(key, stage.detail)
        totals.append(seconds)
    return [
        {"kind": kind, "name": name, "detail": detail, "seconds": spread(run.get((kind, name), 0.0) for run in totals)}
        for (kind, name), detail in details.items()
    ]


def summarize_builds(builds: list[Run], landings: list[Run]) -> dict[str, Any]:
    """Return the spread of full builds: their costs, stage by stage, and the time outside every stage.

    `landings` are runs of landing alone, one for each build; the lines of a build include the time that landing took in
    parallel with other stages, which is not part of their sum.
    Raises BenchmarkError if the lines do not have the stage of the models.
    """
    if not all(run.of(harness.MODELS) for run in builds):
        raise BenchmarkError(f"the build has no stage '{harness.MODELS}' among {[s.kind for s in builds[0].stages]}")
    landed = [run.result["seconds"] for run in landings]
    outside = [run.seconds - sum(stage.seconds for stage in run.stages if stage.kind != "land") for run in builds]
    shares = {purpose: spread(run.shares.get(purpose, 0.0) for run in builds) for purpose in builds[0].shares}
    return summarize(builds) | {
        "shares": shares,
        "landing": spread(landed),
        "landing_and_models": spread(
            seconds + run.of(harness.MODELS) for seconds, run in zip(landed, builds, strict=True)
        ),
        "outside_stages": spread(outside),
    }


def summarize_floor(runs: list[Run]) -> dict[str, Any]:
    """Return the spread of the floor: its seconds, without the start of Python, for each corpus and in total."""
    results = [run.result for run in runs]
    return {
        "seconds": spread(sum(corpus["seconds"] for corpus in result.values()) for result in results),
        "peak_bytes": spread(run.peak_bytes for run in runs),
        "corpora": {name: spread(result[name]["seconds"] for result in results) for name in results[0]},
        "rows": {name: corpus["rows"] for name, corpus in results[0].items()},
    }


def core_rows(database: Path) -> dict[str, int]:
    """Return the number of rows of the largest fact tables of a published warehouse."""
    with duckdb.connect(str(database), read_only=True) as con:
        return {
            table: con.execute(f"select count(*) from core.{table}").fetchone()[0]
            for table in ("dim_dialogues", "fct_turns", "fct_actions", "fct_slots")
        }


def time_queries(database: Path, folder: Path) -> dict[str, Any]:
    """Return the warm spread of every query of a folder, or its error."""
    times: dict[str, Any] = {}
    with duckdb.connect(str(database), read_only=True, config={"threads": 2}) as con:
        for path in sorted(folder.glob("*.sql")):
            query = path.read_text(encoding="utf-8")
            try:
                con.execute(query).fetchall()
                times[path.stem] = {"seconds": spread(time_query(con, query) for _ in range(QUERY_RUNS))}
            except duckdb.Error as error:
                times[path.stem] = {"error": str(error).splitlines()[0]}
    return times


def time_query(con: duckdb.DuckDBPyConnection, query: str) -> float:
    """Return the seconds until the last row of a query has arrived."""
    started = time.perf_counter()
    con.execute(query).fetchall()
    return time.perf_counter() - started


def change_one_file(source: Path) -> Path:
    """Lengthen one utterance of one dialogue file without moving any offset. Return the file."""
    folder = source / CHANGED_CORPUS
    files = [
        path
        for entity, path in finding.find_release(registry.load_corpus(CHANGED_CORPUS), source).files
        if entity.name == "dialogues"
    ]
    file = folder / files[-1]
    dialogues = json.loads(file.read_text(encoding="utf-8"))
    dialogues[0]["turns"][0]["utterance"] += "!"
    file.unlink()  # a copy of a file that is read-only may be replaced, not written
    file.write_text(json.dumps(dialogues, indent=2), encoding="utf-8")
    return file


def preamble() -> dict[str, Any]:
    """Return the date and the machine of a measurement."""
    started = datetime.now(UTC)
    versions = {"python": platform.python_version()} | {name: importlib.metadata.version(name) for name in PACKAGES}
    return {
        "date": started.strftime("%Y-%m-%d"),
        "started_at": started.isoformat(timespec="seconds"),
        "commit": harness.commit(),
        "machine": harness.machine(),
        "versions": versions,
        "sets": [],
    }


def check_disk(scratch: Path, scales: Iterable[float]) -> str:
    """Create the scratch folder. Return the space that it needs and has. Raises BenchmarkError if there is too little."""
    scratch.mkdir(parents=True, exist_ok=True)
    needed, free = int(DISK_PER_SCALE * max(scales, default=1)), shutil.disk_usage(scratch).free
    text = f"{scratch} needs about {needed / 2**30:.1f} GiB, {free / 2**30:.1f} GiB are free"
    if free < needed:
        raise BenchmarkError(f"{text}: name another folder with SCRATCH=..., or smaller SCALES")
    return text


def run(scales: list[float], repeats: int, real: Path, scratch: Path, results: Path) -> dict[str, Any]:
    """Run the whole benchmark; after each set of releases, write the results so far to `results`.

    Sets that were measured earlier at the same commit on the same day are kept.
    """
    say(check_disk(scratch, scales))
    result = preamble()
    tasks = [(measure_generated, scale, repeats if scale <= REPEATED_SCALE else 1) for scale in scales]
    if real.is_dir():
        tasks.insert(0, (measure_real, real, repeats))
    else:
        say(f"no real data: {real} is not there")
    with tempfile.TemporaryDirectory(dir=scratch, prefix="bench-") as folder:
        result["sample"] = measure_sample(repeats, Path(folder))
    result["imports"] = measure_imports(repeats)
    file = results / f"{result['date']}-{result['commit']}.json"
    before = json.loads(file.read_text(encoding="utf-8"))["sets"] if file.is_file() else []
    for measured, of, runs in tasks:
        with tempfile.TemporaryDirectory(dir=scratch, prefix="bench-") as folder:
            now = measured(of, runs, Path(folder))
        before = [part for part in before if part["scale"] != now["scale"]]
        result["sets"] = sorted([*before, now], key=lambda part: part["scale"] or 0)
        before = result["sets"]
        result["finished_at"] = datetime.now(UTC).isoformat(timespec="seconds")
        harness.write(file, json.dumps(result, indent=1) + "\n")
        say(f"written {file}")
    return result


def arguments_of(document: str, scales: list[float]) -> argparse.ArgumentParser:
    """Return the options that both benchmarks have."""
    parser = argparse.ArgumentParser(description=document.partition("\n")[0])
    parser.add_argument("--scales", type=lambda text: [float(part) for part in text.split()], default=scales)
    parser.add_argument("--repeats", type=int, default=5, help="runs of everything; above scale 1 there is one")
    parser.add_argument("--real", type=Path, default=harness.REAL_CORPORA, help="folder with real releases")
    parser.add_argument("--scratch", type=Path, default=Path(tempfile.gettempdir()), help="folder for scratch data")
    parser.add_argument("--results", type=Path, default=harness.RESULTS, help="folder for the results")
    return parser


def main(arguments: list[str] | None = None) -> int:
    """Run the benchmark and print its targets. Return 2 if a measurement failed."""
    options = arguments_of(__doc__, [1.0, 10.0]).parse_args(arguments)
    try:
        result = run(**vars(options))
    except BenchmarkError as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    print(targets.table(targets.of_builds(result)))
    return 0


if __name__ == "__main__":
    sys.exit(main())
