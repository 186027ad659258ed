"""`make bench-peers`: compare this project's build of SGD with other libraries that read the same files.

Each peer runs in its own environment, `ENVIRONMENTS/<library>`, made from `peers/read_with_<library>.txt`. This project
and the peers run in turns. The rows of every table are compared, so that no library is fast because it leaves something
out. Results are written to `warehouse/bench/peers.json`.
"""

from __future__ import annotations

import json
import shutil
import sys
import tempfile
from pathlib import Path
from typing import Any

import duckdb

from dialogue_warehouse.corpora import registry
from dialogue_warehouse.paths import WarehousePaths
from dialogue_warehouse.releases import finding
from tests.benchmarks import harness, report, targets
from tests.benchmarks.bench import (
    COMMAND,
    arguments_of,
    check_disk,
    copy_real,
    generate,
    land,
    preamble,
    say,
    summarize_builds,
    warm,
)
from tests.benchmarks.harness import CLONE, BenchmarkError, spread

ENVIRONMENTS = CLONE / ".venv-peers"
CORPUS = "sgd"
WAYS = (
    ("datasets", "from_generator"),
    ("datasets", "load_dataset"),
    ("pandas", "json_normalize"),
    ("polars", "read_json"),
)
"""Each library, with the ways that its script offers."""
OUR_ROWS = f"""
select 'turns', count(*) from core.fct_turns where corpus_id = '{CORPUS}'
union all select 'frames', count(*) from core.fct_frames
union all select 'actions', count(*) from core.fct_actions where corpus_id = '{CORPUS}'
union all select 'spans', count(*) from core.fct_slots where corpus_id = '{CORPUS}' and annotation_type = 'span'
union all select 'state_values', count(*) from core.fct_slots where corpus_id = '{CORPUS}' and annotation_type = 'state'
union all select 'call_parameters', count(*) from core.fct_slots where corpus_id = '{CORPUS}' and annotation_type = 'call_parameter'
union all select 'service_results', count(*) from core.fct_service_results
"""


def interpreter(library: str, environments: Path) -> Path:
    """Return the Python of a peer's environment. Raises BenchmarkError if there is none."""
    python = environments / library / "bin" / "python"
    if not python.is_file():
        raise BenchmarkError(f"{python} is not there; make bench-peers makes it")
    return python


def compare(name: str, source: Path, runs: int, scratch: Path, environments: Path) -> dict[str, Any]:
    """Build `source`, and read it in every way of every peer, in turns."""
    warehouse = scratch / "warehouse"
    release = finding.find_release(registry.load_corpus(CORPUS), source)
    build = (*COMMAND, "build", "--source", source, "--corpora", CORPUS, "--warehouse", warehouse)
    builds: list[harness.Run] = []
    landings: list[harness.Run] = []
    measured: dict[tuple[str, str], list[dict[str, Any]]] = {way: [] for way in WAYS}
    errors: dict[tuple[str, str], str] = {}
    files = [release.folder / path for _, path in release.files]
    warm(files)
    for number in range(1, runs + 1):
        say(f"{name}: run {number} of {runs}")
        shutil.rmtree(warehouse, ignore_errors=True)
        landings.append(land(source, scratch / "landed", "--corpora", CORPUS))
        builds.append(harness.run_command(*build))
        for library, way in WAYS:
            script = ("-m", f"tests.benchmarks.peers.read_with_{library}", release.folder, "--way", way)
            try:
                run = harness.run_command(interpreter(library, environments), *script)
            except BenchmarkError as error:
                errors[library, way] = str(error).splitlines()[-1]
                continue
            measured[library, way].append(run.result | {"process_peak_bytes": run.peak_bytes})
    with duckdb.connect(str(WarehousePaths(warehouse).published), read_only=True) as con:
        rows = dict(con.execute(OUR_ROWS).fetchall())
    return {
        "name": name,
        "runs": runs,
        "files": len(files),
        "bytes": sum(file.stat().st_size for file in files),
        "ours": summarize_builds(builds, landings) | {"rows": rows},
        "peers": [
            {"library": library, "way": way, "error": errors[library, way]}
            if (library, way) in errors
            else summarize_way(measured[library, way])
            for library, way in WAYS
        ],
    }


def summarize_way(results: list[dict[str, Any]]) -> dict[str, Any]:
    """Return the spread of the measurements that a peer made of itself."""
    first = results[0]
    return {
        "library": first["package"],
        "way": first["way"],
        "version": first["version"],
        "read_seconds": spread(result["read_seconds"] for result in results),
        "flatten_seconds": spread(result["flatten_seconds"] for result in results),
        "seconds": spread(result["read_seconds"] + result["flatten_seconds"] for result in results),
        "peak_bytes": spread(result["process_peak_bytes"] for result in results),
        "rows": first["rows"],
        "loses": first["loses"],
    }


def run(
    scales: list[float], repeats: int, real: Path, scratch: Path, results: Path, environments: Path
) -> dict[str, Any]:
    """Compare on the available real files, if there are any, and on generated releases; write the results."""
    say(check_disk(scratch, scales))
    result = preamble()
    names = {f"generated, scale {scale:g}": scale for scale in scales}
    for name in (["real, in part"] if (real / CORPUS).is_dir() else []) + list(names):
        with tempfile.TemporaryDirectory(dir=scratch, prefix="bench-peers-") as folder:
            source = Path(folder) / "releases"
            if name in names:
                generate(source, names[name], "--corpora", CORPUS)
            else:
                copy_real(real, source)
            measured = compare(name, source, repeats, Path(folder), environments)
            result["sets"].append(measured | {"scale": names.get(name)})
    harness.write(results / report.PEERS, json.dumps(result, indent=1) + "\n")
    return result


def main(arguments: list[str] | None = None) -> int:
    """Run the comparison and print its tables. Return 2 if this project's build failed."""
    parser = arguments_of(__doc__, [1.0])
    parser.add_argument("--environments", type=Path, default=ENVIRONMENTS, help="folder with the peers' environments")
    try:
        result = run(**vars(parser.parse_args(arguments)))
    except BenchmarkError as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    print(report.peer_report(result))
    print(targets.table(targets.of_peers(result)))
    return 0


if __name__ == "__main__":
    sys.exit(main())
