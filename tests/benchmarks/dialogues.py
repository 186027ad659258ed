"""`make bench-dialogues`: read every dialogue of SGD as Python objects, with this project and with other libraries.

`python -m tests.benchmarks.dialogues WAREHOUSE RELEASE`: a warehouse, and the folder of the release that it was built
from. Each library runs in its own environment, in turns, and must count the same dialogues, turns and acts. The table is
written into `docs/benchmarks.md`.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import Any

from tests.benchmarks import harness, report
from tests.benchmarks.comparison import ENVIRONMENTS, interpreter
from tests.benchmarks.harness import BenchmarkError, markdown_table, spread
from tests.benchmarks.peers.objects import WAYS

OURS = "dialogue-warehouse"
BEGIN, END = "<!-- dialogues: begin -->", "<!-- dialogues: end -->"
LOADS = {
    OURS: "a published warehouse: all corpora, keys, defects; objects with types",
    "convokit": "the JSON files, each frame as metadata of its utterance",
    "datasets": "the JSON files, first written to Arrow; dicts and lists",
}


def measure(warehouse: Path, release: Path, runs: int, environments: Path) -> list[dict[str, Any]]:
    """Return the costs of each library. Raises BenchmarkError if one of them fails or counts something else."""
    found: dict[str, list[dict[str, Any]]] = {library: [] for library in WAYS}
    for _ in range(runs):
        for library in WAYS:
            python = sys.executable if library == OURS else interpreter(library, environments)
            place = warehouse if library == OURS else release
            found[library].append(
                harness.run_command(python, "-m", "tests.benchmarks.peers.objects", library, place).result
            )
    return [summarize(results) for results in found.values()]


def summarize(results: list[dict[str, Any]]) -> dict[str, Any]:
    """Return the spread of several runs of a library."""
    names = ("seconds", "cpu_seconds", "peak_bytes")
    return results[0] | {name: spread(result[name] for result in results) for name in names}


def section(results: list[dict[str, Any]], machine: dict[str, Any], runs: int) -> str:
    """Return the table. Raises BenchmarkError if the libraries do not count the same."""
    first, *others = results
    for other in others:
        if other["counts"] != first["counts"]:
            raise BenchmarkError(f"{other['library']} counts {other['counts']}, {first['library']} {first['counts']}")
    rows = [
        (
            f"{result['library']} {result['version']}",
            f"{result['seconds']['median']:.1f}",
            f"{result['cpu_seconds']['median']:.1f}",
            f"{result['peak_bytes']['median'] / 1e6:,.0f} MB",
            LOADS[result["library"]],
        )
        for result in results
    ]
    counted = ", ".join(f"{number:,} {name}" for name, number in first["counts"].items())
    return (
        f"{counted}; {'one run' if runs == 1 else f'median of {runs} runs'}, load average "
        f"{machine['load_average'][0]:.1f} on {machine['cores']} cores. Every dialogue, turn and act is visited. The time "
        "to import the library is included.\n\n"
        f"{markdown_table(('library', 'seconds', 'CPU seconds', 'peak memory', 'reads'), rows)}"
    )


def main(arguments: list[str] | None = None) -> int:
    """Measure, and write the table into the page. Return 2 if that fails."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("warehouse", type=Path)
    parser.add_argument("release", type=Path, help="RELEASE/train/dialogues_001.json, …")
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--environments", type=Path, default=ENVIRONMENTS)
    options = parser.parse_args(arguments)
    machine = harness.machine()
    try:
        results = measure(options.warehouse, options.release, options.runs, options.environments)
        text = section(results, machine, options.runs)
    except BenchmarkError as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    print(text)
    report.PAGE.write_text(report.rewrite(report.PAGE, text, BEGIN, END), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
