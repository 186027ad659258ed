"""`make bench-spark`: build the same releases with DuckDB, with Spark, and on a Spark cluster of two workers.

This needs Java and the packages that `make spark` installs. The cluster is a standalone one on this machine; its
processes are started here and share the disk, and their memory is added to that of the build.
"""

from __future__ import annotations

import argparse
import contextlib
import importlib.util
import os
import re
import shutil
import socket
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Iterator
from pathlib import Path

from tests.benchmarks import harness
from tests.benchmarks.bench import COMMAND, generate, say
from tests.benchmarks.compare_builds import compare
from tests.benchmarks.harness import BenchmarkError, Run

STAGES = ("land", "model warehouse", "load tables", "audit warehouse")
"""The stages of a build that are shown; landing runs for all corpora in parallel, so its slowest corpus is shown."""
LOCAL, CLUSTER = "local[2]", "two workers"
PATIENCE = 60


def main() -> int:
    """Build each source with each engine and print a table. Return 1 if two warehouses differ, else 0."""
    arguments = argparse.ArgumentParser(description=__doc__.partition("\n\n")[0])
    arguments.add_argument("--scales", default="0.01 1", help="scales of generated releases")
    arguments.add_argument("--real", type=Path, default=harness.REAL_CORPORA, help="real releases, where they are")
    arguments.add_argument("--engines", default=f"duckdb,{LOCAL},{CLUSTER}", help="with commas between them")
    arguments.add_argument("--scratch", type=Path, help="folder to work in")
    given = arguments.parse_args()
    rows, differing = [], 0
    with tempfile.TemporaryDirectory(dir=given.scratch) as folder:
        scratch = Path(folder)
        for scale in map(float, given.scales.split()):
            generate(scratch / "releases", scale)
            differing += measure(f"scale {scale:g}", scratch / "releases", given.engines.split(","), scratch, rows)
        if given.real.is_dir():
            differing += measure("real, in part", given.real, given.engines.split(","), scratch, rows)
    print(harness.markdown_table(("", "all", *STAGES, "CPU", "memory", "equal"), rows))
    return int(differing > 0)


def measure(name: str, source: Path, engines: list[str], scratch: Path, rows: list[tuple[str, ...]]) -> int:
    """Build a source with each engine, record the costs, and count the warehouses that differ from the first."""
    first, differing = None, 0
    for engine in engines:
        say(f"{name}: {engine}")
        warehouse = scratch / re.sub(r"\W", "_", engine)  # a path with [ ] is refused
        shutil.rmtree(warehouse, ignore_errors=True)
        options = ["build", "--source", source, "--warehouse", warehouse]
        with standalone(scratch) if engine == CLUSTER else contextlib.nullcontext((engine, None)) as (master, group):
            run = build(options, None if engine == "duckdb" else master)
            beside = harness.session_bytes(group) if group else 0
        equal = ""
        if first is not None:
            reported = compare(first / "dialogues.duckdb", warehouse / "dialogues.duckdb")
            equal = (
                "yes" if not any(reported.values()) else ", ".join(table for table, lines in reported.items() if lines)
            )
            differing += equal != "yes"
        first = first or warehouse
        rows.append(row(f"{name}, {engine}", run, beside, equal))
        print(" | ".join(rows[-1]), file=sys.stderr, flush=True)
    return differing


def build(options: list[object], master: str | None) -> Run:
    """Build with DuckDB, or with Spark if a master is given."""
    if master is None:
        return harness.run_command(*COMMAND, *options)
    return harness.run_command("env", f"DIALOGUE_SPARK_MASTER={master}", *COMMAND, *options, "--engine", "spark")


def row(name: str, run: Run, beside: int, equal: str) -> tuple[str, ...]:
    """Return a build as cells: seconds, seconds of its stages, CPU seconds of its processes, memory of all."""
    seconds = [
        max((one.seconds for one in run.stages if f"{one.kind} {one.name}".startswith(stage)), default=0.0)
        for stage in STAGES
    ]
    stages = (f"{one:.1f}" for one in seconds)
    memory = f"{(run.peak_bytes + beside) / 2**30:.1f} GiB"
    return (name, f"{run.seconds:.1f} s", *stages, f"{run.cpu_seconds:.0f} s", memory, equal)


@contextlib.contextmanager
def standalone(scratch: Path) -> Iterator[tuple[str, int]]:
    """Run a Spark master and two workers on loopback; yield the master's URL and the session of their processes."""
    spec = importlib.util.find_spec("pyspark")
    if spec is None or spec.origin is None:
        raise BenchmarkError("no pyspark: make spark")
    home = Path(spec.origin).parent
    port, page = free_port(), free_port()
    environment = os.environ | {"SPARK_HOME": str(home), "PYSPARK_PYTHON": sys.executable, "SPARK_NO_DAEMONIZE": "1"}
    class_of, own = "org.apache.spark.deploy", ["--host", "127.0.0.1"]
    master, program = f"spark://127.0.0.1:{port}", home / "bin" / "spark-class"
    commands = [[program, f"{class_of}.master.Master", *own, "--port", str(port), "--webui-port", str(page)]]
    worker = [program, f"{class_of}.worker.Worker", *own, "--cores", "1", "--memory", "3g", "--webui-port", "0"]
    commands += [[*worker, "--work-dir", str(scratch / f"worker{number}"), master] for number in range(2)]
    script = "".join(f"{' '.join(map(str, command))} &\n" for command in commands) + "wait\n"
    with (scratch / "cluster.log").open("w") as log:
        leader = subprocess.Popen(
            ["sh", "-c", script],
            stdout=log,
            stderr=log,
            env=environment,
            start_new_session=True,
        )
    try:
        end = time.monotonic() + PATIENCE
        while alive_workers(page) < 2:
            if time.monotonic() > end or leader.poll() is not None:
                raise BenchmarkError(f"the cluster does not start: {(scratch / 'cluster.log').read_text()[-500:]}")
            time.sleep(0.5)
        yield master, leader.pid
    finally:
        os.killpg(leader.pid, 15)
        leader.wait()


def free_port() -> int:
    """Return a free port of loopback."""
    with socket.create_server(("127.0.0.1", 0)) as free:
        return free.getsockname()[1]


def alive_workers(port: int) -> int:
    """Return the number of workers of a master, as its page shows it."""
    try:
        with urllib.request.urlopen(f"http://127.0.0.1:{port}/json/", timeout=5) as page:
            return page.read().decode().count('"ALIVE"') - 1  # the master says that of itself too
    except OSError:
        return 0


if __name__ == "__main__":
    sys.exit(main())
