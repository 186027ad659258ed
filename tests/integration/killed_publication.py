"""Publications in separate processes, which are killed at a step; forked from a process that has imported the libraries."""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

from dialogue_warehouse.paths import CLONE, WarehousePaths
from tests.faults.killing import HOOKS

PUBLISH = """
import os, sys
from pathlib import Path
from dialogue_warehouse.paths import WarehousePaths
from tests.unit.parquet_builds import publish
for line in sys.stdin:
    step, build_id, root = line.rstrip().split(" ", 2)
    process = os.fork()
    if process == 0:
        os.environ["FAULT_STEP"] = step
        sys.modules.pop("sitecustomize", None)
        import sitecustomize
        publish(WarehousePaths(Path(root)), build_id)
        os._exit(0)
    print(os.waitstatus_to_exitcode(os.waitpid(process, 0)[1]), flush=True)
"""


@contextlib.contextmanager
def publishing(folder: Path, build_id: str) -> Iterator[Callable[[WarehousePaths, int], int]]:
    """Return a function that publishes a build in a process killed before this step, and returns its status."""
    pointer = WarehousePaths(folder).started_publication.name
    with subprocess.Popen(
        [sys.executable, "-c", PUBLISH],
        env=os.environ | {"PYTHONPATH": f"{HOOKS}{os.pathsep}{CLONE}", "FAULT_FROM": pointer},
        cwd=CLONE,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stdin is not None
        assert process.stdout is not None

        def run(paths: WarehousePaths, step: int) -> int:
            process.stdin.write(f"{step} {build_id} {paths.root}\n")
            process.stdin.flush()
            return int(process.stdout.readline())

        yield run
