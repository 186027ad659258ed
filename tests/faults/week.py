"""A week of a service, played at speed: files arrive slowly, are damaged, mended and rolled back, processes are killed.

The week is a list of ticks, drawn from a seed. What each tick must cause is computed before the week begins, by the
rules of `expect`, which know nothing of the code of the service. `tests/faults/playing.py` plays the ticks in another
process, on the smallest releases that can be generated, and says what it sees after each one.
"""

from __future__ import annotations

import contextlib
import hashlib
import http.server
import json
import os
import random
import shutil
import subprocess
import sys
import tempfile
import threading
from collections.abc import Generator, Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Literal

from dialogue_warehouse.corpora import registry
from dialogue_warehouse.paths import CLONE, WarehousePaths
from dialogue_warehouse.settings import TELEMETRY_OFF
from pipelines.ingestion.simulating import simulate
from tests.faults.scene import NEVER, Outcome

TITLE = "a week of ticks: files arrive slowly, are damaged, mended and rolled back, processes are killed"
KEPT = 3
"""Number of builds that stay on disk."""
SMALLEST = 0.0001
"""Scale of the smallest releases that can be generated."""
SECONDS_OF_A_TICK = 900
"""Most seconds that a tick may take, on average."""

Action = Literal["nothing", "part", "whole", "cut", "touch", "roll back"]
"""The event before the triggers are evaluated. `part` and `whole` write a new version of a file, `cut` half of one."""
Killed = Literal["", "run", "daemon", "service"]
"""The process that is killed while a run works: the run, the daemon before it has started the run, or all processes."""


@dataclass(frozen=True)
class Tick:
    """One evaluation of the triggers."""

    action: Action = "nothing"
    killed: Killed = ""
    is_daily: bool = False
    """True if the schedule `daily` ticks too."""


SCRIPTS: dict[str, tuple[list[Tick], int]] = {
    "nothing": ([Tick()], 1),
    "daily": ([Tick(is_daily=True)], 1),
    "arrives": ([Tick("whole"), Tick()], 4),
    "arrives slowly": ([Tick("part"), Tick("part"), Tick("whole"), Tick()], 3),
    "arrives before the schedule": ([Tick("whole"), Tick(is_daily=True)], 2),
    "touched": ([Tick("touch"), Tick()], 1),
    "damaged": ([Tick("cut"), Tick()], 3),
    "mended": ([Tick("part"), Tick("whole"), Tick()], 0),
    "rolled back": ([Tick("roll back")], 6),
    "run killed": ([Tick("whole"), Tick(killed="run")], 2),
    "daemon killed": ([Tick("whole"), Tick(killed="daemon"), Tick()], 2),
    "service killed": ([Tick("whole"), Tick(killed="service"), Tick()], 2),
}
"""The events of a week: their ticks, and how often they occur."""
WHILE_DAMAGED = ("nothing", "touched", "daily", "mended")
"""Events that may follow while a file is damaged."""
TO_GO_BACK = ("arrives", "arrives slowly", "arrives before the schedule")
"""Events after two of which the last build can be rolled back."""


def plan(chance: random.Random, count: int) -> list[Tick]:
    """Draw the ticks of a week; the first build is made first."""
    ticks, is_damaged, in_a_row = [*SCRIPTS["arrives"][0]], False, 1
    while len(ticks) < count:
        possible = [
            name
            for name in SCRIPTS
            if (name in WHILE_DAMAGED if is_damaged else name != "mended") and (name != "rolled back" or in_a_row > 1)
        ]
        (name,) = chance.choices(possible, [SCRIPTS[name][1] or 3 for name in possible])
        ticks += SCRIPTS[name][0]
        is_damaged = name == "damaged" or (is_damaged and name != "mended")
        if name in TO_GO_BACK:
            in_a_row += 1
        elif name not in ("nothing", "daily", "touched"):
            in_a_row = 0
    return ticks[:count]


@dataclass(frozen=True)
class Build:
    """The content of a build: the version of the file that it has, and the damaged one that it could not use."""

    version: int
    damaged: int = 0


@dataclass(frozen=True)
class Expected:
    """The state after a tick."""

    builds: int
    """Number of builds that were published in all."""
    published: Build | None
    kept: tuple[Build, ...]
    alerts: tuple[str, ...]
    """The kinds of all alerts that were sent, in their order."""


class Rules:
    """The rules of the service, as its pages state them."""

    def __init__(self) -> None:
        self.builds = 0
        self.kept: list[Build] = []
        self.published: Build | None = None
        self.rolled_back: Build | None = None
        self.alerts: list[str] = []
        self.trouble: object = None
        """The failure that the last alert was about; None if it was a recovery, or there was none."""
        self.version = 0
        self.is_whole = False
        self.is_new = False
        """True if the file has changed since the last run about it has ended."""
        self.was_killed = False
        """True if a killed run is to be found at the next tick."""

    def tick(self, tick: Tick) -> Expected:
        """Return what must be true after this tick."""
        has_changed = tick.action in ("part", "whole", "cut", "touch")
        if tick.action in ("part", "whole", "cut"):
            self.version, self.is_whole = self.version + 1, tick.action == "whole"
        if tick.action == "roll back":
            self._roll_back()
        self.is_new = self.is_new or has_changed
        is_due = self.is_new and not has_changed  # a file that still changes is not built
        if self.was_killed or (is_due and tick.killed == "run"):
            self._find_killed()
        elif is_due and tick.killed == "service":
            self.was_killed = True
        elif (is_due or tick.is_daily) and tick.killed != "daemon":
            self._run()
        return Expected(self.builds, self.published, tuple(self.kept), tuple(self.alerts))

    def _find_killed(self) -> None:
        """A killed run is an alert, and is repeated once."""
        self.was_killed = False
        self._fail("killed")
        self._run()

    def _run(self) -> None:
        """A run publishes what is neither published nor rolled back. A damaged file leaves the version that there is."""
        self.is_new = False
        made = (
            Build(self.version)
            if self.is_whole
            else Build(self.published.version if self.published else 0, self.version)
        )
        if made not in (self.published, self.rolled_back):
            self.builds += 1
            self.kept = [*self.kept, made][-KEPT:]
            self.published, self.rolled_back = made, None
        if self.published is not None and self.published.damaged:
            self._fail(self.published.damaged)
        elif self.trouble is not None:
            self.trouble = None
            self.alerts.append("recovery")

    def _fail(self, trouble: object) -> None:
        """A failure for the same reason as the last one sends no second alert."""
        if trouble != self.trouble:
            self.alerts.append("failure")
        self.trouble = trouble

    def _roll_back(self) -> None:
        """The build before the published one is published again, and none is made or removed."""
        assert self.published is not None
        self.rolled_back, self.published = self.published, self.kept[self.kept.index(self.published) - 1]


def expect(ticks: list[Tick]) -> list[Expected]:
    """Return what must be true after each tick, by the rules alone."""
    rules = Rules()
    return [rules.tick(tick) for tick in ticks]


def content(build: Build) -> dict[str, Any]:
    """Return what can be seen of a build: its version, and if a damaged file could not be used."""
    return {"version": build.version, "is_stale": build.damaged > 0}


def differences(number: int, tick: Tick, expected: Expected, seen: dict[str, Any]) -> Iterator[str]:
    """Yield each difference between what a tick must cause and what it has caused."""
    wanted = asdict(expected) | {
        "published": expected.published and content(expected.published),
        "kept": [content(build) for build in expected.kept],
        "alerts": [*expected.alerts],
    }
    for name, value in wanted.items():
        if seen[name] != value:
            yield f"tick {number}, {tick}: {name} {seen[name]}, not {value}"
    if seen["unfinished"]:
        yield f"tick {number}, {tick}: runs that have not ended: {seen['unfinished']}"


class Place:
    """A folder with the two smallest generated releases, and a file that changes; there is no warehouse yet."""

    def __init__(self, folder: Path, rng: random.Random) -> None:
        self.rng = rng
        self.folder = Path(tempfile.mkdtemp(prefix="scene-", dir=folder))
        self.source = self.folder / "source"
        simulate(self.folder / "all", SMALLEST)
        sizes = {
            corpus_id: sum(
                path.stat().st_size for path in (self.folder / "all" / corpus_id).rglob("*") if path.is_file()
            )
            for corpus_id in registry.corpus_ids()
        }
        self.corpora = sorted(sizes, key=lambda corpus_id: sizes[corpus_id])[:2]
        for corpus_id in self.corpora:
            shutil.move(self.folder / "all" / corpus_id, self.source / corpus_id)
        (self.file, *_) = sorted((self.source / self.corpora[0]).rglob("[a-z]*.json"))
        self.paths = WarehousePaths(self.folder / "warehouse")

    def close(self) -> None:
        """Remove the folder."""
        shutil.rmtree(self.folder, ignore_errors=True)


def week(place: Place, times: int) -> Outcome:
    """Play this number of ticks, and compare what is seen with what was expected before."""
    return play(place, plan(place.rng, times))


def play(place: Place, ticks: list[Tick]) -> Outcome:
    """Play these ticks in another process. Each message must arrive once at the webhook of the settings."""
    outcome, expected = Outcome(times=len(ticks)), expect(ticks)
    given, seen = place.folder / "ticks.json", place.folder / "seen.jsonl"
    given.write_text(json.dumps([asdict(tick) for tick in ticks]))
    with received() as (url, messages):
        settings = {
            "DIALOGUE_WAREHOUSE": str(place.paths.root),
            "DIALOGUE_SOURCE": str(place.source),
            "DIALOGUE_ONLY": ",".join(place.corpora),
            "DIALOGUE_VERIFY": "0",
            "DIALOGUE_BUILDS_KEPT": str(KEPT),
            "DIALOGUE_ALERT_WEBHOOK": url,
            "DIALOGUE_PROCESSES": "1",
        }
        others = {name: text for name, text in os.environ.items() if not name.startswith(("DIALOGUE_", "DAGSTER_"))}
        ended = subprocess.run(
            [sys.executable, "-m", "tests.faults.playing", place.file, given, seen, str(place.rng.randrange(2**32))],
            capture_output=True,
            text=True,
            cwd=CLONE,
            env=others | TELEMETRY_OFF | settings,
            timeout=SECONDS_OF_A_TICK * len(ticks),
            check=False,
        )
    outcome.must(ended.returncode == 0, f"the player ended with {ended.returncode}: {ended.stderr[-2000:]}")
    for word in NEVER:
        outcome.must(word not in ended.stderr, f"{word} was seen: {ended.stderr[-2000:]}")
    rows = [json.loads(line) for line in seen.read_text().splitlines()] if seen.exists() else []
    outcome.must(len(rows) == len(ticks), f"{len(rows)} ticks of {len(ticks)}")
    for number, (tick, what, row) in enumerate(zip(ticks, expected, rows, strict=False)):
        outcome.problems += differences(number, tick, what, row)
    alerts = place.paths.alerts.read_text().splitlines() if place.paths.alerts.exists() else []
    outcome.must(
        messages == [json.loads(line)["text"] for line in alerts],
        f"{len(messages)} messages have arrived, and {len(alerts)} were recorded, or not the same ones",
    )
    if expected:
        last = expected[-1]
        outcome.saw[f"{last.builds} builds and {len(last.alerts)} alerts, as expected before"] += not outcome.problems
        outcome.left["the expected build after each tick"] += not outcome.problems
    return outcome


class _Receiver(http.server.BaseHTTPRequestHandler):
    """Accepts messages."""

    messages: list[str]

    def do_POST(self) -> None:
        """Keep the text of a message."""
        self.messages.append(json.loads(self.rfile.read(int(self.headers["Content-Length"])))["text"])
        self.send_response(204)
        self.end_headers()

    def log_message(self, *_: object) -> None:
        """Print nothing."""


@contextlib.contextmanager
def received() -> Generator[tuple[str, list[str]]]:
    """Serve a webhook while the context lasts; return its URL and the texts that it receives."""
    messages: list[str] = []
    handler = type("Receiver", (_Receiver,), {"messages": messages})
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}/", messages
        server.shutdown()


def digest(content: bytes) -> str:
    """Return the hash by which a manifest names a file."""
    return hashlib.sha256(content).hexdigest()


def content_of(whole: bytes, version: int, action: str) -> bytes:
    """Return a version of the file: all of it, or the first part. No two versions are equal."""
    if action == "whole":
        return whole + b" " * version
    return whole[: len(whole) // 3 + version % (len(whole) // 3)]
