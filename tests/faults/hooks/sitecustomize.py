"""Kills a build at one of the steps that change a file, from the first step about a certain file on.

Python imports this when it starts, where this folder is in its path. `FAULT_STEP` is the number of the step, `FAULT_FROM`
the end of the path of that file. A step about it is one that makes it, or that opens it as a database of SQLite.
"""

import os
import signal
import sys

STEPS = ("os.rename", "os.chmod", "shutil.copyfile", "shutil.copystat", "os.remove", "os.rmdir", "os.mkdir", "os.link")
STEP, FROM = int(os.environ.get("FAULT_STEP", "0")), os.environ.get("FAULT_FROM", "")
count = 0


def kill_at_step(event: str, arguments: tuple[object, ...]) -> None:
    """Count the steps from the first that is about the file, and kill the process before the requested one."""
    global count
    file = arguments[1] if event == "os.rename" else arguments[0] if event == "sqlite3.connect" else None
    is_about_it = file is not None and str(file).endswith(FROM)
    if is_about_it or (count and event in STEPS):
        count += 1
        if count == STEP:
            os.kill(os.getpid(), signal.SIGKILL)


if STEP:
    sys.addaudithook(kill_at_step)
