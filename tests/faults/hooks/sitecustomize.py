"""Kill the process that publishes, before one of the steps that change a file; for `tests.faults.killing`.

Python imports this module at its start if the folder is in its path. `FAULT_STEP` is the number of the step, `FAULT_FROM`
the name of the file whose creation begins the publication.
"""

import os
import signal
import sys

STEPS = ("os.rename", "os.chmod", "shutil.copyfile", "shutil.copystat", "os.remove", "os.rmdir", "os.mkdir", "os.link")
STEP, FROM = int(os.environ.get("FAULT_STEP", "0")), os.environ.get("FAULT_FROM", "")
count = 0


def kill_at_step(event: str, arguments: tuple[object, ...]) -> None:
    """Count the steps from the first one about the file, and kill the process before the requested step."""
    global count
    begins = event == "os.rename" and str(arguments[1]).endswith(FROM)
    if event in STEPS and (count or begins):
        count += 1
        if count == STEP:
            os.kill(os.getpid(), signal.SIGKILL)


if STEP:
    sys.addaudithook(kill_at_step)
