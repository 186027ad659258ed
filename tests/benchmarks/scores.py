"""`make bench-scores`: score predictions for SGD's test set, beside the same metrics in plain Python.

`python -m tests.benchmarks.scores WAREHOUSE RELEASE`: a warehouse, and the folder of the release of SGD that it was built
from. The official script is not part of this project: `tests/fixtures/sgd/score.py` computes its metrics in the way of
the script, dialogue by dialogue. Both read the same random predictions in turns, and must have the same number. The
table is written into `docs/benchmarks.md`.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from tests import fixtures
from tests.benchmarks import harness, report
from tests.benchmarks.harness import BenchmarkError, Run, markdown_table, spread

BEGIN, END = "<!-- scores: begin -->", "<!-- scores: end -->"
SPLIT, SEED = "test", 1
METRIC, GROUP = "joint_goal_accuracy", "#ALL_SERVICES"
VARIANT, MODE = "difflib", "fuzzy_difflib"
"""The way of comparing texts of the official script, as ours and the plain computation name it."""
MODES = (MODE, "fuzzy_levenshtein", "exact")
"""All that `score` computes."""
PLAIN = "plain"
"""The argument that lets this module compute the metrics in plain Python."""
PART = 4
"""One of every N dialogues is in the smaller predictions; this is N."""


def plain(release: Path, predictions: Path, modes: Iterable[str]) -> dict[str, Any]:
    """Compute the metrics in plain Python, in one way of comparing texts after the other, and return one of them."""
    oracle = fixtures.load("sgd", "score")
    found = {mode: oracle.score(release, SPLIT, predictions, mode)[0] for mode in modes}
    return {"value": found[MODE][GROUP][METRIC]}


def write_predictions(release: Path, folder: Path) -> dict[str, Path]:
    """Write random predictions for most dialogues, and a part of them."""
    whole = fixtures.load("sgd", "predictions").predict(release, SPLIT, folder / "all", SEED)
    part = folder / "part"
    part.mkdir()
    for file in whole.glob("*.json"):
        content = json.loads(file.read_bytes())
        dialogues = list(content.values()) if isinstance(content, dict) else content
        (part / file.name).write_text(json.dumps(dialogues[::PART]), encoding="utf-8")
    return {"all": whole, "part": part}


def measure(warehouse: Path, release: Path, runs: int) -> dict[str, Any]:
    """Return the costs of both ways. Raises BenchmarkError if their numbers differ."""
    with tempfile.TemporaryDirectory() as folder:
        predictions = write_predictions(release, Path(folder))
        ours = {name: [] for name in predictions}
        theirs: dict[str, list[Run]] = {"plain": [], "plain in all ways": []}
        for _ in range(runs):
            for name, path in predictions.items():
                ours[name].append(_score(warehouse, path))
            for runs_of, modes in zip(theirs.values(), ((MODE,), MODES), strict=True):
                command = ("-m", __spec__.name, PLAIN, release, predictions["all"], *modes)
                runs_of.append(harness.run_command(sys.executable, *command))
    number = next(
        row
        for row in ours["all"][0].result_rows
        if (row["metric"], row["group_name"], row["variant"]) == (METRIC, GROUP, VARIANT)
    )
    value = theirs["plain"][0].result["value"]
    if abs(number["value"] - value) > 1e-9:
        raise BenchmarkError(f"{METRIC} is {number['value']} here and {value} in plain Python")
    return {
        "frames": number["units"],
        "predicted_frames": number["scored_units"],
        "dialogues": number["dialogues"],
        **{name: _costs([one.run for one in scored]) for name, scored in ours.items()},
        **{name: _costs(of) for name, of in theirs.items()},
    }


class _Scored:
    """A run of `score`, and its numbers."""

    def __init__(self, run: Run) -> None:
        self.run = run
        self.result_rows: list[dict[str, Any]] = json.loads(run.stdout)


def _score(warehouse: Path, predictions: Path) -> _Scored:
    options = ("--corpus", "sgd", "--split", SPLIT, "--predictions", predictions, "--warehouse", warehouse, "--json")
    return _Scored(harness.run_command(sys.executable, "-m", "dialogue_warehouse", "score", *options))


def _costs(runs: list[Run]) -> dict[str, Any]:
    return {name: spread(getattr(run, name) for run in runs) for name in ("seconds", "cpu_seconds", "peak_bytes")}


def section(found: dict[str, Any], machine: dict[str, Any], runs: int) -> str:
    """Return the table and what it shows."""
    ways = (
        ("all", f"`score`: {found['dialogues']:,} dialogues", "all metrics in 3 ways, gold, intervals, slots, units"),
        ("part", f"`score`: one of {PART} of them", "the same"),
        ("plain", f"plain Python: {found['dialogues']:,} dialogues", "all metrics in 1 way"),
        ("plain in all ways", "plain Python: the same dialogues", "all metrics in 3 ways, one after the other"),
    )
    rows = [
        (
            title,
            f"{found[name]['seconds']['median']:.1f}",
            f"{found[name]['cpu_seconds']['median']:.1f}",
            f"{found[name]['peak_bytes']['median'] / 1e6:,.0f} MB",
            what,
        )
        for name, title, what in ways
    ]
    ours = found["all"]["cpu_seconds"]["median"]
    one, all_ways = (found[name]["cpu_seconds"]["median"] / ours for name in ("plain", "plain in all ways"))
    return (
        f"{found['frames']:,} frames of the test set, of which {found['predicted_frames']:,} are predicted; "
        f"{'one run' if runs == 1 else f'median of {runs} runs'} at commit {harness.commit()}, load average "
        f"{machine['load_average'][0]:.1f} on {machine['cores']} cores. Start of the command included. Plain Python needs "
        f"{one:.1f} times the CPU seconds of `score` for one way of comparing texts, and {all_ways:.1f} times for the "
        f"three ways, without the other numbers. Both have the same `{METRIC}`.\n\n"
        f"{markdown_table(('way', 'seconds', 'CPU seconds', 'peak memory', 'computes'), rows)}"
    )


def main(arguments: list[str] | None = None) -> int:
    """Measure, and write the table into the page. Return 2 if that fails."""
    arguments = sys.argv[1:] if arguments is None else arguments
    if arguments[:1] == [PLAIN]:
        print(json.dumps(plain(Path(arguments[1]), Path(arguments[2]), arguments[3:])))
        return 0
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("warehouse", type=Path)
    parser.add_argument("release", type=Path, help="RELEASE/test/dialogues_001.json, …")
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--page", type=Path, default=report.PAGE)
    options = parser.parse_args(arguments)
    try:
        found = measure(options.warehouse.absolute(), options.release.absolute(), options.repeats)
    except BenchmarkError as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    text = section(found, harness.machine(), options.repeats)
    print(text)
    options.page.write_text(report.rewrite(options.page, text, BEGIN, END), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
