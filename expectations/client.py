"""The audit's client: starts the audit process early, and sends the request when the database is closed.

It imports no library that takes long.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
from collections import deque
from collections.abc import Mapping
from contextlib import suppress
from typing import IO, Any, Self

from dialogue_warehouse import environment
from dialogue_warehouse.errors import CheckError
from dialogue_warehouse.paths import CLONE, in_home
from dialogue_warehouse.settings import TELEMETRY_OFF, Settings

ONE_THREAD = {"OPENBLAS_NUM_THREADS": "1", "JE_ARROW_MALLOC_CONF": "background_thread:false"}
"""Keeps numpy and pyarrow from starting threads that are not used here: the audit forks, which threads make unsafe."""


class AuditError(CheckError):
    """The audit itself failed, which says nothing about the warehouse; one line."""


def command() -> list[str]:
    """Return the command that starts the audit of this process."""
    return [sys.executable, "-W", "ignore", "-m", "expectations.audit", str(os.getpid())]


class AuditProcess:
    """The audit as a child process; a context manager.

    with AuditProcess() as audit:      # imports Great Expectations from here on
        ...                            # land, model, close the database
        audit.begin(request)
        ...                            # any other work
        summary = audit.answer()       # {suite: {"evaluated", "passed", "warned", "failed", "failures"}}
    """

    def __init__(self, timeout: float = Settings.audit_timeout) -> None:
        """Limit one audit to `timeout` seconds, which include the rest of the import."""
        self.seconds = 0.0
        """Seconds that the last audit took."""
        self._timeout = timeout
        self._asked: tuple[threading.Event, threading.Timer] | None = None
        self._process: subprocess.Popen[str] | None = None
        self._last_words: deque[str] = deque(maxlen=1)
        self._listener: threading.Thread | None = None
        self._is_ready = False

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def start(self) -> None:
        """Start the child, unless it runs; returns at once."""
        if self._process is not None:
            return
        self._is_ready = False
        self._last_words.clear()
        process = self._process = subprocess.Popen(
            command(),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            cwd=CLONE,
            env={**environment.own_variables(), **TELEMETRY_OFF, **ONE_THREAD, "HOME": str(in_home("~"))},
            text=True,
            encoding="utf-8",
            errors="replace",
        )
        self._listener = threading.Thread(target=self._listen, args=(process.stderr,), daemon=True)
        self._listener.start()

    @property
    def is_asked(self) -> bool:
        """True if an audit has begun that is not answered yet."""
        return self._asked is not None

    def begin(self, request: Mapping[str, Any]) -> None:
        """Request the audit of a database that no process has open for writing; returns at once, call `answer` next.

        Paths in the request are absolute: the child's working directory is the clone. An earlier request without an
        answer is lost.
        """
        if self.is_asked:
            self.close()
        self.start()
        process = self._process
        assert process is not None and process.stdin is not None
        overdue = threading.Event()
        timer = threading.Timer(self._timeout, lambda: (overdue.set(), process.kill()))
        timer.start()
        self._asked = overdue, timer
        with suppress(OSError):  # the child has ended, which `answer` reports
            process.stdin.write(json.dumps(request) + "\n")
            process.stdin.flush()

    def answer(self) -> dict[str, Any]:
        """Return the summary of each suite of the audit that has begun. Raises AuditError."""
        assert self._asked is not None
        overdue, _ = self._asked
        try:
            if not self._is_ready:
                self._is_ready = bool(self._receive(overdue).get("ready"))
            answer = self._receive(overdue)
        finally:
            self._forget()
        if "error" in answer:
            raise AuditError(answer["error"])
        self.seconds = answer["seconds"]
        return answer["suites"]

    def run(self, request: Mapping[str, Any]) -> dict[str, Any]:
        """Begin an audit and wait for its answer. Raises AuditError."""
        self.begin(request)
        return self.answer()

    def _forget(self) -> None:
        """Forget the request."""
        if self._asked is not None:
            self._asked[1].cancel()
            self._asked = None

    def close(self) -> None:
        """End the child; an audit that runs is lost."""
        self._forget()
        process, self._process = self._process, None
        if process is None:
            return
        process.terminate()
        try:
            process.wait(5)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
        if self._listener is not None:
            self._listener.join(5)
        for stream in (process.stdin, process.stdout, process.stderr):
            if stream is not None:
                with suppress(BrokenPipeError):  # input that it has not read
                    stream.close()

    def _listen(self, errors: IO[str]) -> None:
        """Read the child's standard error, so that it never waits for a reader, and keep the last line."""
        for line in errors:
            if line.strip():
                self._last_words.append(line.strip())

    def _receive(self, overdue: threading.Event) -> dict[str, Any]:
        """Return the child's next line."""
        assert self._process is not None and self._process.stdout is not None
        line = self._process.stdout.readline()
        if overdue.is_set():
            raise self._failure(f"took longer than {self._timeout:g} seconds (DIALOGUE_AUDIT_TIMEOUT)")
        if not line.endswith("\n"):
            raise self._failure(f"ended with status {self._process.wait()}")
        try:
            answer = json.loads(line)
        except ValueError:
            answer = None
        if not isinstance(answer, dict):
            raise self._failure(f"wrote '{line.strip()[:100]}', which is not an answer")
        return answer

    def _failure(self, what: str) -> AuditError:
        """End the child. Return an error with the last line that it wrote to standard error."""
        self.close()
        last = f": {self._last_words[0]}" if self._last_words else ""
        return AuditError(f"the audit process {what}{last}")
