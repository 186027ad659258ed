"""The scene of a fault: a published warehouse, a source that has changed since, and the checks after the fault."""

from __future__ import annotations

import contextlib
import json
import os
import random
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import duckdb

from dialogue_warehouse.errors import InputError
from dialogue_warehouse.paths import CLONE, WarehousePaths
from dialogue_warehouse.storage import builds
from pipelines.ingestion.simulating import SAMPLE_SCALE, simulate
from tests.conftest import run_command
from tests.running import is_alive, processes_below

NEVER = ("Traceback", "internal error")
"""Words that no user should see."""
BEFORE, AFTER = "the earlier build", "the new build"
PATIENCE = 600
"""Maximum number of seconds that a build may take, with any fault."""
VARIABLE = (
    (re.compile(r"/\S*/scene-[^/\s]*"), "FOLDER"),
    (re.compile(r"/[\w./-]+/(?=[\w.-]+\.(so|py)\b)"), "…/"),  # where this machine keeps its libraries
    (re.compile(r"\b\d{8}T\d{12}Z\b"), "BUILD"),
    (re.compile(r"\b[0-9a-f]{12,}\b"), "HASH"),
    (re.compile(r"[\d,.]+ [kMGT]?B\b"), "… MB"),
    (re.compile(r"\b[\d,.]+ (?=bytes|[KMG]i?B)"), "… "),
    (re.compile(r"byte \d+|position \d+"), "byte …"),
)
"""Patterns of texts that differ between builds, with their replacements."""


@dataclass
class Outcome:
    """The results of a fault, for all times that it was caused."""

    times: int = 0
    saw: Counter[str] = field(default_factory=Counter)
    left: Counter[str] = field(default_factory=Counter)
    problems: list[str] = field(default_factory=list)
    lacking: str = ""
    """The reason that the fault cannot be caused on this machine."""

    def must(self, holds: bool, what: str) -> None:
        """Add a problem unless a condition holds."""
        if not holds:
            self.problems.append(what)


@dataclass(frozen=True)
class Ended:
    """A command that has ended."""

    status: int
    stdout: str
    stderr: str


@dataclass(frozen=True)
class States:
    """Two published states of a warehouse: folders that a scene copies, and never changes."""

    before: Path
    """Warehouse that is published when a fault happens."""
    after: Path
    """Warehouse that a build of `source` gives without a fault."""
    source: Path
    seconds: float
    """Seconds that this build took."""


def make_states(folder: Path) -> States:
    """Build the sample, and the sample with one dialogue of SGD fewer."""
    source, before, after = (folder / name for name in ("releases", "before", "after"))
    simulate(source, SAMPLE_SCALE)
    _build(source, before)
    changed = source / "sgd" / "dev" / "dialogues_001.json"
    changed.write_text(json.dumps(json.loads(changed.read_text())[1:]))
    shutil.copytree(before, after, symlinks=True)
    began = time.monotonic()
    _build(source, after)
    return States(before, after, source, time.monotonic() - began)


def _build(source: Path, warehouse: Path) -> None:
    command = (sys.executable, "-m", "dialogue_warehouse", "build", "--quiet", "--source", source)
    ended = subprocess.run([*command, "--warehouse", warehouse], capture_output=True, text=True, cwd=CLONE, check=False)
    if ended.returncode:
        raise RuntimeError(f"a build for the scene failed: {ended.stderr}")


class Scene:
    """A folder with a published warehouse, and a source that has changed since.

    `restore` restores this state; `before` and `after` are the contents of the builds of the two sources.
    """

    def __init__(self, folder: Path, rng: random.Random, states: States | None = None) -> None:
        """Copy both states, or make them: two builds of the sample."""
        self.rng = rng
        self.folder = Path(tempfile.mkdtemp(prefix="scene-", dir=folder))
        self.source = self.folder / "source"
        self.paths = WarehousePaths(self.folder / "warehouse")
        self.kept = self.folder / "kept"
        states = states or make_states(self.folder / "states")
        for name, state in (("source", states.source), ("warehouse", states.before)):
            shutil.copytree(state, self.kept / name, symlinks=True)
        self.restore()
        self.before, self.after = (content(WarehousePaths(one).published) for one in (states.before, states.after))
        self.first = builds.published_build(self.paths)[0]
        self.seconds = states.seconds
        self.names = _names(states.before) | _names(states.after) | {self.paths.alerts.name}
        assert self.before != self.after

    def restore(self) -> None:
        """Restore the files from before the fault."""
        for name in ("source", "warehouse"):
            _remove(self.folder / name)
            shutil.copytree(self.kept / name, self.folder / name, symlinks=True)

    def close(self) -> None:
        """Remove the folder."""
        _remove(self.folder)

    def start(self, *arguments: object, before: Sequence[str] = (), **environment: str) -> subprocess.Popen[str]:
        """Start `dialogue-warehouse` as a user would, with its output in files; `before` is put before the command."""
        settings = {name: value for name, value in os.environ.items() if not name.startswith(("DIALOGUE_", "DAGSTER_"))}
        settings |= {"DIALOGUE_WAREHOUSE": str(self.paths.root)} | environment
        with (self.folder / "stdout").open("w") as out, (self.folder / "stderr").open("w") as err:
            return subprocess.Popen(
                [*before, sys.executable, "-m", "dialogue_warehouse", *map(str, arguments)],
                stdout=out,
                stderr=err,
                stdin=subprocess.DEVNULL,
                text=True,
                cwd=CLONE,
                env=settings,
                start_new_session=True,
            )

    def finish(self, process: subprocess.Popen[str]) -> Ended:
        """Wait for the command that was started last. Kill a command that does not end."""
        try:
            status = process.wait(PATIENCE)
        except subprocess.TimeoutExpired:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            status = process.wait()
        return Ended(status, (self.folder / "stdout").read_text(), (self.folder / "stderr").read_text())

    def command(self, *arguments: object, before: Sequence[str] = (), **environment: str) -> Ended:
        """Run a command to its end."""
        return self.finish(self.start(*arguments, before=before, **environment))

    def build(self, *options: object, **environment: str) -> Ended:
        """Build the source as it is now."""
        return self.command("build", "--source", self.source, "--quiet", *options, **environment)

    def interrupt(self, name: str, seconds: float) -> tuple[Ended, dict[int, str]]:
        """Build, and send a signal after this many seconds. Return the ended command and the processes that it had."""
        process = self.start("build", "--source", self.source, "--quiet")
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(seconds)
        children = processes_below(process.pid)
        process.send_signal(signal.Signals[name])
        return self.finish(process), children

    def judge(self, outcome: Outcome, ended: Ended, statuses: set[int], what: str = "") -> None:
        """Record what the user saw and what readers see, and add problems: tracebacks, a mixed state."""
        outcome.times += 1
        saw = generic(ended.stderr.strip()) or ("success" if ended.status == 0 else f"no output, status {ended.status}")
        outcome.saw[saw] += 1
        outcome.must(ended.status in statuses, f"{what}: status {ended.status}: {ended.stderr.strip()[-300:]}")
        for word in NEVER:
            outcome.must(word not in ended.stderr, f"{what}: {word} was seen: {ended.stderr[-300:]}")
        lines = ended.stderr.splitlines()
        outcome.must(len(lines) <= 6, f"{what}: {len(lines)} lines on standard error, the first: {lines[:1]}")
        outcome.left[self.left(outcome, what)] += 1

    def left(self, outcome: Outcome, what: str = "") -> str:
        """Return what a reader of the published file sees now."""
        try:
            seen = content(self.paths.published)
        except duckdb.Error as error:
            outcome.must(False, f"{what}: the published file cannot be read: {error}")
            return "nothing"
        outcome.must(seen in (self.before, self.after), f"{what}: a reader sees neither build, or a part")
        return BEFORE if seen == self.before else AFTER if seen == self.after else "neither"

    def recover(self, outcome: Outcome, what: str = "") -> None:
        """Build again: the build must have the content of a build without the fault, and leave no strange files."""
        ended = run_command("build", "--source", self.source, "--quiet", DIALOGUE_WAREHOUSE=str(self.paths.root))
        outcome.must(ended.returncode == 0, f"{what}: the next build: {ended.stderr.strip()[-300:]}")
        self.inspect(outcome, what)

    def inspect(self, outcome: Outcome, what: str = "") -> None:
        """Report each difference from the warehouse of a build without the fault as a problem."""
        outcome.must(self.left(outcome, what) == AFTER, f"{what}: the next build has another content")
        try:
            build_id, _ = builds.published_build(self.paths)
            outcome.must(not builds.damage(self.paths, build_id), f"{what}: the published build is damaged")
        except InputError as error:
            outcome.must(False, f"{what}: {error}")
        strange = _names(self.paths.root) - self.names
        outcome.must(not strange, f"{what}: left behind: {sorted(strange)[:5]}")

    def none_left_running(self, outcome: Outcome, children: dict[int, str], what: str) -> None:
        """Check that no process of a build outlives it by more than ten seconds."""
        until = time.monotonic() + 10
        while (alive := [pid for pid in children if is_alive(pid)]) and time.monotonic() < until:
            time.sleep(0.05)
        outcome.must(not alive, f"{what}: still running: {[children[pid][:80] for pid in alive]}")


def _names(warehouse: Path) -> set[str]:
    """Return the general names of a warehouse's files, without the files that only Dagster and dbt use."""
    found = {path.relative_to(warehouse).as_posix() for path in warehouse.rglob("*")}
    return {generic(name) for name in found if not name.startswith((".dagster/", ".dbt/", ".scratch/target/"))}


def content(database: Path) -> dict[str, tuple[object, ...]]:
    """Return the number of rows and a hash of each table of core and analytics, to compare two builds."""
    with duckdb.connect(str(database), read_only=True) as con:
        tables = con.execute(
            "select schema_name || '.' || table_name from duckdb_tables() where schema_name in ('core', 'analytics')"
        ).fetchall()
        found = {}
        for (table,) in tables:
            columns = "* exclude (carried_from, carried_because)" if table == "core.dim_corpora" else "*"
            rows = con.execute(f"select count(*), bit_xor(hash(r)) from (select {columns} from {table}) as r")
            found[table] = rows.fetchall()[0]
    return found


def generic(text: str) -> str:
    """Return a text in one line, without the parts that differ between builds."""
    for pattern, stands_for in VARIABLE:
        text = pattern.sub(stands_for, text)
    return " / ".join(text.splitlines())


def _remove(folder: Path) -> None:
    shutil.rmtree(folder, ignore_errors=True)


Fault = Callable[[Scene, int], Outcome]
"""Causes a fault this many times."""
