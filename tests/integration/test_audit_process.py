"""The audit's process forks only while it has no threads, is given up after a timeout, and ends with its parent."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from dialogue_warehouse.paths import CLONE
from expectations.client import ONE_THREAD, AuditError, AuditProcess
from tests.running import is_alive


def test_audit_forks_only_while_it_has_one_thread(tmp_path: Path) -> None:
    """Fails if a library that it imports starts a thread: it then validates in one process, at half the speed."""
    file = tmp_path / "look.py"  # pyspark ends a process whose main module has no file
    file.write_text(
        "import threading, time\nfrom dialogue_warehouse.common import processes\nfrom expectations import validation\n"
        "print(processes.can_fork())\n"
        "threading.Thread(target=time.sleep, args=(9,), daemon=True).start()\nprint(processes.can_fork())\n"
    )
    reported = subprocess.run(
        [sys.executable, "-W", "ignore", file],
        env={**os.environ, **ONE_THREAD},
        cwd=CLONE,
        capture_output=True,
        text=True,
        check=True,
    )
    assert reported.stdout == "True\nFalse\n"


def test_audit_times_out() -> None:
    with (
        AuditProcess(0.05) as audit,
        pytest.raises(AuditError, match=r"took longer than 0.05 seconds \(DIALOGUE_AUDIT"),
    ):
        audit.run({})


def test_audit_ends_with_its_parent_in_every_case() -> None:
    code = (
        "import time; from expectations.client import AuditProcess\n"
        "audit = AuditProcess(); audit.start(); print(audit._process.pid, flush=True); time.sleep(60)"
    )
    with subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True, cwd=CLONE) as parent:
        assert parent.stdout is not None
        audit = int(parent.stdout.readline())
        time.sleep(2)  # it has registered for the end of its parent, and imports
        assert is_alive(audit)
        parent.send_signal(signal.SIGKILL)
    deadline = time.monotonic() + 10
    while is_alive(audit) and time.monotonic() < deadline:
        time.sleep(0.05)
    assert not is_alive(audit)
