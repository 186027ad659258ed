"""Shared parts of the benchmarks: measured processes, lines of stages, spreads, and facts about this machine.

This module uses only the standard library, so that the peers' environments can import it. It works only on Linux,
because it reads memory from /proc.
"""

from __future__ import annotations

import contextlib
import json
import os
import platform
import re
import signal
import statistics
import subprocess
import tempfile
import threading
import time
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

CLONE = Path(__file__).resolve().parents[2]
RESULTS = CLONE / "warehouse" / "bench"
REAL_CORPORA = Path(os.environ.get("DIALOGUE_CORPORA") or CLONE.parent / "shared" / "corpora")
MODELS = "model"
"""Kind of the stage that, together with landing, is compared with the floor."""
SAMPLE_SECONDS = 0.04
STAGE = re.compile(r"(?P<kind>\S+) +(?P<name>\S+(?: \S+)*?)(?: {2,}(?P<detail>\S.*?))? +(?P<seconds>\d+\.\d) s")
PAGE = os.sysconf("SC_PAGE_SIZE")
TICKS = os.sysconf("SC_CLK_TCK")
SHARED = re.compile(r"^Pss: +(\d+) kB", re.MULTILINE)
ITSELF = "the command itself"
PROCESSES = {"expectations.audit": "audit", "multiprocessing": "landing"}
"""Purposes of a command's further processes, by a part of their command line."""


class BenchmarkError(Exception):
    """A measurement failed."""


@dataclass(frozen=True)
class Stage:
    """A line that a command wrote about one of its stages."""

    kind: str
    name: str
    detail: str
    seconds: float


@dataclass(frozen=True)
class Run:
    """A command that succeeded, and its costs: wall clock, CPU of all its processes, their total memory."""

    seconds: float
    cpu_seconds: float
    peak_bytes: int
    stdout: str = field(repr=False, default="")
    stages: tuple[Stage, ...] = ()
    shares: dict[str, float] = field(default_factory=dict)
    """CPU seconds by purpose of the processes, as last seen."""

    def of(self, *kinds: str) -> float:
        """Return the total seconds of the stages of these kinds."""
        return sum(stage.seconds for stage in self.stages if stage.kind in kinds)

    @property
    def result(self) -> Any:
        """Return the JSON of the last line; DuckDB writes its progress to standard output before it."""
        return json.loads(self.stdout.splitlines()[-1])


def run_command(*arguments: object, cwd: Path = CLONE) -> Run:
    """Run a command in a separate session and measure it. Raises BenchmarkError if it fails.

    Memory is the sum of the resident set sizes of the session's processes, sampled every 40 ms. It is an upper bound,
    because pages that processes share count in each of them. CPU seconds are those of every process that was waited
    for.
    """
    command = [str(argument) for argument in arguments]
    environment = {name: value for name, value in os.environ.items() if not name.startswith("DIALOGUE_")}
    with tempfile.TemporaryFile("w+") as output, tempfile.TemporaryFile("w+") as errors:
        started = time.perf_counter()
        process = subprocess.Popen(
            command,
            stdout=output,
            stderr=errors,
            cwd=cwd,
            env=environment,
            start_new_session=True,
        )
        try:
            with Watch(process.pid) as watch:
                _, status, usage = os.wait4(process.pid, 0)
        except BaseException:
            os.killpg(process.pid, signal.SIGTERM)  # the keyboard's interrupt does not reach another session
            raise
        seconds = time.perf_counter() - started
        process.returncode = os.waitstatus_to_exitcode(status)
        output.seek(0)
        errors.seek(0)
        stdout, stderr = output.read(), errors.read()
    if process.returncode:
        raise BenchmarkError(f"{' '.join(command)} ended with {process.returncode}: {stderr.strip() or stdout.strip()}")
    return Run(seconds, usage.ru_utime + usage.ru_stime, watch.peak, stdout, parse_stages(stderr), watch.shares())


class Watch:
    """Samples a session's processes in a thread while the context lasts.

    `peak` is the sum of their resident set sizes in bytes. `peak_shared`, if it is requested, is the sum of their
    proportional set sizes, in which a page that several processes share counts as one.
    """

    def __init__(self, session: int, with_shared: bool = False) -> None:
        self.session, self.peak, self.peak_shared, self._with_shared = session, 0, 0, with_shared
        self._cpu_seconds: dict[int, float] = {}
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._sample, daemon=True)
        self._purposes: dict[int, str] = {}

    def __enter__(self) -> Watch:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()
        self._thread.join()

    def _sample(self) -> None:
        while not self._over.wait(SAMPLE_SECONDS):
            seen = list(processes(self.session))
            self.peak = max(self.peak, sum(process.bytes for process in seen))
            if self._with_shared:
                self.peak_shared = max(self.peak_shared, sum(process.shared_bytes() for process in seen))
            for process in seen:
                self._cpu_seconds[process.pid] = process.cpu_seconds
                if self._purposes.get(process.pid, ITSELF) == ITSELF:  # as it is until it has its own command line
                    self._purposes[process.pid] = process.purpose()

    def shares(self) -> dict[str, float]:
        """Return the CPU seconds by purpose of the processes."""
        shares: dict[str, float] = {}
        for pid, seconds in self._cpu_seconds.items():
            purpose = self._purposes[pid]
            shares[purpose] = shares.get(purpose, 0.0) + seconds
        return shares


@dataclass(frozen=True)
class Process:
    """A process at one moment: resident bytes, and its CPU seconds so far."""

    pid: int
    bytes: int
    cpu_seconds: float
    children_seconds: float
    """CPU seconds of its processes that have ended."""

    def shared_bytes(self) -> int:
        """Return its bytes now, in which a page that n processes share counts as 1/n; 0 if it has ended."""
        try:
            found = SHARED.search(Path("/proc", str(self.pid), "smaps_rollup").read_text())
        except OSError:
            return 0
        return int(found[1]) * 1024 if found else 0

    def purpose(self) -> str:
        """Return the purpose of the process."""
        try:
            command = Path("/proc", str(self.pid), "cmdline").read_text(encoding="utf-8", errors="replace")
        except OSError:  # it has ended
            command = ""
        return next((purpose for part, purpose in PROCESSES.items() if part in command), ITSELF)


def processes(session: int) -> Iterator[Process]:
    """Return the processes of a session."""
    for entry in os.scandir("/proc"):
        if entry.name.isdigit():
            with contextlib.suppress(OSError):  # a process that has just ended
                # After the name, which may have blanks and brackets: state, parent, group, session; 14th to 17th field of
                # the line: ticks in its own code and in the kernel's, and those of ended children; 24th: pages.
                fields = Path(entry.path, "stat").read_bytes().rpartition(b")")[2].split()
                if int(fields[3]) == session:
                    own, ended = (sum(map(int, fields[first : first + 2])) / TICKS for first in (11, 13))
                    yield Process(int(entry.name), int(fields[21]) * PAGE, own, ended)


def session_bytes(session: int) -> int:
    """Return the resident bytes of all processes of a session."""
    return sum(process.bytes for process in processes(session))


def parse_stages(text: str) -> tuple[Stage, ...]:
    """Return all stages in the lines of a command's standard error: `kind name detail seconds s`."""
    matches = (STAGE.fullmatch(line) for line in text.splitlines())
    return tuple(
        Stage(match["kind"], match["name"], match["detail"] or "", float(match["seconds"]))
        for match in matches
        if match
    )


def spread(values: Iterable[float]) -> dict[str, float]:
    """Return the median, the smallest and the largest of some measurements."""
    measured = list(values)
    return {"median": statistics.median(measured), "min": min(measured), "max": max(measured), "runs": len(measured)}


def ratio(above: dict[str, float], below: dict[str, float]) -> float:
    """Return the ratio of two medians."""
    return above["median"] / below["median"]


def folder_bytes(folder: Path, pattern: str = "*") -> int:
    """Return the total size in bytes of the files below a folder whose names match."""
    return sum(path.stat().st_size for path in folder.rglob(pattern) if path.is_file())


def machine() -> dict[str, Any]:
    """Return facts about the machine, and its current load."""
    cpu = re.search(r"^model name\s*: (.*)", Path("/proc/cpuinfo").read_text(), flags=re.M)
    memory = re.search(r"^MemTotal: +(\d+) kB", Path("/proc/meminfo").read_text(), flags=re.M)
    assert memory is not None
    return {
        "cpu": cpu[1] if cpu else platform.machine(),
        "cores": len(os.sched_getaffinity(0)),
        "memory_bytes": int(memory[1]) * 1024,
        "kernel": platform.release(),
        "load_average": os.getloadavg(),
    }


def commit() -> str:
    """Return the commit of this clone, with `-dirty` if files differ from it."""
    return git("describe", "--always", "--dirty", "--exclude=*").strip()


def git(*arguments: str) -> str:
    """Return the output of a git command in this clone."""
    return subprocess.run(["git", *arguments], capture_output=True, text=True, check=True, cwd=CLONE).stdout


def markdown_table(header: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Return a Markdown table; every column except the first is aligned to the right."""
    lines = [header, ["---"] + ["--:"] * (len(header) - 1), *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def write(path: Path, text: str) -> None:
    """Write a text file; create its folder if necessary."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
