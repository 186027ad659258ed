"""The audit's process: it forks only while it has no thread, it is given up after a time, and ends with its parent."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time

import pytest

from dialogue_warehouse.paths import CLONE
from expectations.client import ONE_THREAD, AuditError, AuditProcess
from tests.running import is_alive


def test_audit_forks_for_it_has_no_thread_and_with_one_it_would_not() -> None:
    """Fails when a library that it imports starts one; it then validates in one process, at half the speed."""
    code = (
        "import threading, time\nfrom dialogue_warehouse.common import processes\nfrom expectations import validation\nprint(processes.can_fork())\n"
        "threading.Thread(target=time.sleep, args=(9,), daemon=True).start()\nprint(processes.can_fork())"
    )
    told = subprocess.run(
        [sys.executable, "-c", code],
        env={**os.environ, **ONE_THREAD},
        cwd=CLONE,
        capture_output=True,
        text=True,
        check=True,
    )
    assert told.stdout == "True\nFalse\n"


def test_audit_that_takes_too_long_is_given_up() -> None:
    with (
        AuditProcess(0.05) as audit,
        pytest.raises(AuditError, match=r"took longer than 0.05 seconds \(DIALOGUE_AUDIT"),
    ):
        audit.run({})


def test_audit_ends_with_its_parent_however_that_ends() -> None:
    code = (
        "import time; from expectations.client import AuditProcess\n"
        "audit = AuditProcess(); audit.start(); print(audit._process.pid, flush=True); time.sleep(60)"
    )
    with subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True, cwd=CLONE) as parent:
        assert parent.stdout is not None
        audit = int(parent.stdout.readline())
        time.sleep(2)  # it has asked to be told of its parent's end, and imports
        assert is_alive(audit)
        parent.send_signal(signal.SIGKILL)
    deadline = time.monotonic() + 10
    while is_alive(audit) and time.monotonic() < deadline:
        time.sleep(0.05)
    assert not is_alive(audit)
