"""The client of the audit process: what it says when the process fails."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from expectations.client import AuditError, AuditProcess


@pytest.fixture
def impostor(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """An audit process that runs a shell script instead."""

    def write(script: str) -> AuditProcess:
        path = tmp_path / "python"
        path.write_text(f"#!/bin/sh\n{script}\n", encoding="utf-8")
        path.chmod(0o755)
        monkeypatch.setattr(sys, "executable", str(path))
        return AuditProcess(timeout=1)

    yield write


@pytest.mark.parametrize(
    ("script", "message"),
    [
        ("echo 'first' >&2; echo 'the cause' >&2; exit 3", "the audit process ended with status 3: the cause"),
        ("echo why >&2; echo hello", "the audit process wrote 'hello', which is not an answer: why"),
        ("echo '[]'", "the audit process wrote '[]', which is not an answer"),
        ("echo '{\"ready\": true}'; read line; exit 4", "the audit process ended with status 4"),
        ('echo \'{"ready": true}\'; read line; echo \'{"error": "no"}\'; read line', "no"),
        ("exec sleep 30", "the audit process took longer than 1 seconds (DIALOGUE_AUDIT_TIMEOUT)"),
    ],
)
def test_failure_of_the_process_is_reported_in_one_line(impostor: Any, script: str, message: str) -> None:
    with impostor(script) as process, pytest.raises(AuditError, match=f"^{re.escape(message)}$"):
        process.run({})


def test_second_question_gets_its_own_answer(impostor: Any) -> None:
    """An earlier question is lost, with its process."""
    script = """echo '{"ready": true}'; read line; echo "{\\"seconds\\": 0, \\"suites\\": $line}"; read line"""
    with impostor(script) as process:
        process.begin({"question": 1})
        first = process._process
        process.begin({"question": 2})
        assert first.poll() is not None
        assert process.answer() == {"question": 2}
        assert not process.is_asked


def test_process_ends_with_its_client(impostor: Any) -> None:
    process = impostor("exec sleep 30")
    process.start()
    child = process._process
    process.close()
    assert child.poll() is not None


def test_process_of_a_user_without_a_home_has_one(impostor: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Regression: Great Expectations looks for the home folder, and the build of such a user failed."""
    monkeypatch.delenv("HOME")
    monkeypatch.setattr(os, "getuid", lambda: 2**31 - 2)
    with impostor('echo "$HOME" >&2') as process, pytest.raises(AuditError, match=f": {os.devnull}/~$"):
        process.run({})
