"""Tick the daily schedule many times in one process, each time with a run in another process, and measure both.

Arguments: warehouse, source, a file of SGD as it was, number of builds, file for one line of JSON per build.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import warnings
from pathlib import Path


def _size(folder: Path) -> int:
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file() and not path.is_symlink())


def _memory() -> int:
    return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE") >> 20


def soak(warehouse: Path, source: Path, kept: Path, times: int, measured: Path) -> None:
    """Build this many times, each time from another file. Memory and disk are measured in megabytes."""
    from dialogue_warehouse.paths import CLONE, WarehousePaths
    from pipelines.dagster_graph import configuration

    paths = WarehousePaths(warehouse)
    configuration.write(paths)
    os.environ |= {
        "DIALOGUE_WAREHOUSE": str(warehouse),
        "DIALOGUE_SOURCE": str(source),
        "DAGSTER_HOME": str(paths.dagster_home),
        "DIALOGUE_VERIFY": "0",
        "DIALOGUE_QUIET_SECONDS": "0.01",
    }
    import dagster as dg

    from pipelines.definitions import definitions

    schedule = definitions().get_schedule_def("daily")
    launch = [sys.executable, "-m", "dagster", "job", "execute", "-m", "pipelines.definitions", "-j", "everything"]
    file = source / kept.relative_to(kept.parents[2])
    dialogues = json.loads(kept.read_text())
    with measured.open("w") as out:
        for number in range(times):
            file.write_text(json.dumps(dialogues[(times - number - 1) % 2 :]))  # the last time what it was
            with dg.DagsterInstance.get() as instance:
                tick = schedule.evaluate_tick(dg.build_schedule_context(instance))
                assert tick.run_requests, tick.skip_message
            with (measured.parent / "run.log").open("w") as log:
                run = subprocess.Popen(launch, stdout=log, stderr=log, cwd=CLONE)
                _, status, used = os.wait4(run.pid, 0)
            run.returncode = os.waitstatus_to_exitcode(status)
            assert run.returncode == 0, (measured.parent / "run.log").read_text()[-2000:]
            with dg.DagsterInstance.get() as instance:
                runs = len(instance.get_run_ids())
            row = {
                "memory": _memory(),
                "memory of a run": used.ru_maxrss >> 10,
                "handles": len(list(Path("/proc/self/fd").iterdir())),
                "disk": _size(warehouse) >> 20,
                "runs": runs,
                "history": _size(paths.dagster_home) >> 20,
            }
            print(json.dumps(row), file=out, flush=True)


if __name__ == "__main__":
    warnings.filterwarnings("ignore")
    soak(*map(Path, sys.argv[1:4]), int(sys.argv[4]), Path(sys.argv[5]))
