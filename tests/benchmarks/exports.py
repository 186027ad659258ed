"""`make bench-exports`: export a corpus of a warehouse, and let Hugging Face `datasets` write the same Parquet files.

`datasets` reads the JSON Lines of the form `chat`, in the environment of the peers. All ways run in turns, and each is a
process, measured from its start to its end. The table is written into docs/benchmarks.md. Without a warehouse, one is
built from real files (`tests.benchmarks.repeated`).
"""

from __future__ import annotations

import argparse
import os
import re
import shutil
import sys
import tempfile
from pathlib import Path
from typing import Any

from tests.benchmarks import harness, repeated
from tests.benchmarks.bench import COMMAND, say
from tests.benchmarks.comparison import CORPUS, ENVIRONMENTS, interpreter
from tests.benchmarks.harness import CLONE, BenchmarkError, Run, spread

PAGE = CLONE / "docs" / "benchmarks.md"
SECTION = re.compile(r"(?<=<!-- exports: begin -->\n).*(?=<!-- exports: end -->)", re.S)
FORMS = ("chat", "huggingface")
WAYS = ("from_generator", "load_dataset")


def measure(warehouse: Path, runs: int, scratch: Path, environments: Path) -> dict[str, list[Run]]:
    """Return the runs of each form of the export, and of each way of `datasets`."""
    found: dict[str, list[Run]] = {}
    for number in range(1, runs + 1):
        say(f"run {number} of {runs}")
        for form in FORMS:
            options = ("--form", form, "--corpora", CORPUS, "--to", scratch / form, "--warehouse", warehouse, "--quiet")
            shutil.rmtree(scratch / form, ignore_errors=True)
            found.setdefault(f"`export --form {form}`", []).append(harness.run_command(*COMMAND, "export", *options))
        for way in WAYS:
            script = (
                "-m",
                "tests.benchmarks.peers.export_with_datasets",
                scratch / "chat",
                scratch / way,
                "--way",
                way,
            )
            run = harness.run_command(interpreter("datasets", environments), *script)
            found.setdefault(f"datasets {run.result['version']} `{way}`", []).append(run)
    return found


def _build(scratch: Path) -> Path:
    """Return a warehouse of the repeated real files."""
    repeated.write(harness.REAL_CORPORA / CORPUS, scratch / "releases" / CORPUS)
    say("build")
    harness.run_command(
        *COMMAND, "build", "--source", scratch / "releases", "--warehouse", scratch / "warehouse", "--quiet"
    )
    return scratch / "warehouse"


def table(measured: dict[str, list[Run]], sizes: dict[str, int]) -> str:
    """Return the costs of each way as a table; `sizes` are the bytes of what it has written."""
    rows = [
        (
            name,
            _spread(run.seconds for run in runs),
            _spread(run.cpu_seconds for run in runs),
            f"{max(run.peak_bytes for run in runs) / 1e9:.2f} GB",
            f"{size / 1e6:,.1f} MB",
        )
        for (name, runs), size in zip(measured.items(), sizes.values(), strict=True)
    ]
    return harness.markdown_table(("", "seconds", "CPU seconds", "peak memory", "files"), rows)


def _spread(values: Any) -> str:
    found = spread(values)
    return f"{found['median']:.1f} ({found['min']:.1f} to {found['max']:.1f})"


def main(arguments: list[str] | None = None) -> int:
    """Measure, and write the table into the page. Return 2 if a process failed."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n\n")[0])
    parser.add_argument("warehouse", type=Path, nargs="?")
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--environments", type=Path, default=ENVIRONMENTS)
    parser.add_argument("--page", type=Path, default=PAGE)
    given = parser.parse_args(arguments)
    try:
        with tempfile.TemporaryDirectory() as folder:
            scratch = Path(folder)
            warehouse = given.warehouse or _build(scratch)
            load = os.getloadavg()[0]
            measured = measure(warehouse, given.repeats, scratch, given.environments)
            sizes = {name: harness.folder_bytes(scratch / name, "*.[jp]*") for name in (*FORMS, *WAYS)}
            examples = sum(len(path.read_bytes().splitlines()) for path in scratch.glob("chat/*/*.jsonl"))
    except BenchmarkError as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    data = "" if given.warehouse else ", made of real files that are repeated"
    where = f"{examples:,} examples of `{CORPUS}`{data}; load average {load:.1f} at the start; {given.repeats} runs"
    text = f"{where}.\n\n{table(measured, sizes)}\n"
    given.page.write_text(SECTION.sub(lambda _: text, given.page.read_text(encoding="utf-8")), encoding="utf-8")
    print(text)
    return 0


if __name__ == "__main__":
    sys.exit(main())
