"""Ticks of the daily schedule, and the runs that they ask for, over and over in one process: what it needs as they go on.

Arguments: warehouse, source, a file of SGD as it was, how many builds, where to write one line of JSON a build.
"""

from __future__ import annotations

import json
import os
import sys
import warnings
from pathlib import Path

QUIET = {"loggers": {"console": {"config": {"log_level": "CRITICAL"}}}}


def _size(folder: Path) -> int:
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file() and not path.is_symlink())


def _memory() -> int:
    return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE") >> 20


def soak(warehouse: Path, source: Path, kept: Path, times: int, measured: Path) -> None:
    """Build so many times, each time from another file."""
    from pipelines.building import instance as instances
    from pipelines.paths import WarehousePaths

    paths = WarehousePaths(warehouse)
    instances.write_configuration(paths)
    os.environ |= {
        "DIALOGUE_WAREHOUSE": str(warehouse),
        "DIALOGUE_SOURCE": str(source),
        "DAGSTER_HOME": str(paths.dagster_home),
        "DIALOGUE_VERIFY": "0",
    }
    import dagster as dg

    from pipelines.definitions import definitions

    everything = definitions()
    schedule, job = everything.get_schedule_def("daily"), everything.resolve_job_def("everything")
    file = source / kept.relative_to(kept.parents[2])
    dialogues = json.loads(kept.read_text())
    with measured.open("w") as out:
        for number in range(times):
            file.write_text(json.dumps(dialogues[number % 2 :]))
            with dg.DagsterInstance.get() as instance:
                tick = schedule.evaluate_tick(dg.build_schedule_context(instance))
                assert tick.run_requests, tick.skip_message
                run = job.execute_in_process(run_config=QUIET, instance=instance, raise_on_error=False)
                assert run.success, run.run_id
                runs = len(instance.get_run_ids())
            row = {
                "memory": _memory(),
                "handles": len(list(Path("/proc/self/fd").iterdir())),
                "disk": _size(warehouse) >> 20,
                "runs": runs,
                "history": _size(paths.dagster_home) >> 20,
            }
            print(json.dumps(row), file=out, flush=True)


if __name__ == "__main__":
    warnings.filterwarnings("ignore")
    soak(*map(Path, sys.argv[1:4]), int(sys.argv[4]), Path(sys.argv[5]))
