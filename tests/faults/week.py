"""A week of a service, played at speed: files arrive, are damaged and mended, builds are rolled back, processes killed.

Dagster's own page and daemon work on the warehouse, with the sensor `folder` and the schedule `daily`, which here ticks
each minute. The events of the week, and the builds and alerts that they must cause, are written down before it begins.
"""

from __future__ import annotations

import json
import random
import time
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal, get_args

from dialogue_warehouse.storage import builds, publication
from tests.faults import service
from tests.faults.scene import PATIENCE, Outcome, Scene
from tests.integration.served import PLACE, Served, served

Event = Literal["nothing", "arrives", "touched", "damaged", "mended", "rolled back", "run", "daemon", "service"]
EVENTS: tuple[Event, ...] = get_args(Event)
WEIGHTS = (3, 5, 3, 2, 4, 1, 1, 1, 1)
KILLS: dict[str, service.Kill] = {
    "run": service.kill_run,
    "daemon": service.kill_daemon,
    "service": service.kill_all,
}
"""An event of this name kills so while a new file is built."""
A_DAY = 28
"""Events of a day; at its end, nothing may have happened that was not written down."""
QUIET = 5
"""Seconds without a change after which the sensor builds."""
LONG_ENOUGH = 40
"""Seconds in which both triggers have been evaluated again."""
FILE = "sgd/dev/dialogues_001.json"
START = """
mutation Start($sensor: SensorSelector!, $schedule: ScheduleSelector!) {
  startSensor(sensorSelector: $sensor) { __typename }
  startSchedule(scheduleSelector: $schedule) { __typename }
}
"""


@dataclass(frozen=True)
class Expected:
    """An event, and what must have happened in all when it is over."""

    event: Event
    builds: int
    """Number of builds that were published."""
    alerts: tuple[str, ...]
    """The kinds of the alerts; one in brackets may be missing, because the run may have ended before it was killed."""


def plan(chance: random.Random, count: int) -> Iterator[Expected]:
    """Draw the events of a week, and say what each must cause."""
    published, alerts = 0, []
    is_damaged, may_roll_back = False, False
    for _ in range(count):
        (event,) = chance.choices(EVENTS, WEIGHTS)
        if is_damaged != (event == "mended") and (is_damaged or event == "mended"):
            event = "mended" if is_damaged and event not in ("nothing", "touched") else "nothing"
        if event == "rolled back" and not may_roll_back:
            event = "nothing"
        if event in ("arrives", "damaged", "mended", *KILLS):
            published, may_roll_back = published + 1, event == "arrives"
        if event == "rolled back":
            may_roll_back = False
        if event in ("damaged", "mended"):
            is_damaged = event == "damaged"
            alerts.append("failure" if is_damaged else "recovery")
        if event in KILLS:
            alerts += ["(failure)", "(recovery)"]
        yield Expected(event, published, tuple(alerts))


def agree(found: list[str], expected: tuple[str, ...]) -> bool:
    """Tell if these alerts are the expected ones; a pair in brackets may be missing."""
    if not expected:
        return not found
    if expected[0] == "(failure)":
        return agree(found, expected[2:]) or (found[:2] == ["failure", "recovery"] and agree(found[2:], expected[2:]))
    return found[:1] == [expected[0]] and agree(found[1:], expected[1:])


class Player:
    """Causes the events in the scene's source and warehouse."""

    def __init__(self, scene: Scene) -> None:
        self.scene, self.version = scene, 0
        self.file = scene.source / FILE
        self.dialogues = json.loads(self.file.read_text())

    def content(self) -> str:
        """Return the file in a version that no earlier build has seen."""
        self.version += 1
        first, *others = json.loads(json.dumps(self.dialogues))
        first["turns"][0]["utterance"] += f" ({self.version})"
        return json.dumps([first, *others])

    def arrive(self) -> None:
        """Write a new version slowly, as a copy over a network does."""
        text = self.content()
        self.file.write_text("")
        for start in range(0, len(text), len(text) // 4 + 1):
            with self.file.open("a") as stream:
                stream.write(text[start : start + len(text) // 4 + 1])
            time.sleep(QUIET / 5)

    def play(self, event: Event) -> None:
        """Cause an event that kills nothing."""
        if event in ("arrives", "mended"):
            self.arrive()
        elif event == "damaged":
            self.file.write_text(self.content()[:-100])
        elif event == "touched":
            self.file.touch()
        elif event == "rolled back":
            publication.roll_back(self.scene.paths)


def week(scene: Scene, times: int) -> Outcome:
    """Play so many events, and compare builds and alerts with those that were written down."""
    outcome, player = Outcome(), Player(scene)
    written = [*plan(scene.rng, times)]
    numbers = len(list(scene.paths.builds.glob("*.json")))
    first = builds.read_manifest(scene.paths, builds.published_build(scene.paths)[0]).number
    settings = {
        "DIALOGUE_SOURCE": str(scene.source),
        "DIALOGUE_QUIET_SECONDS": str(QUIET),
        "DIALOGUE_CRON": "* * * * *",
        "DIALOGUE_VERIFY": "0",
        "DIALOGUE_BUILDS_KEPT": str(numbers + 3),
    }
    place = 0
    while place < len(written):
        with served(scene.paths, scene.folder, **settings) as site:
            begin(site)
            while place < len(written):
                expected, place = written[place], place + 1
                is_over = place % A_DAY == 0 or place == len(written)
                goes_on = step(site, player, outcome, expected, first, is_over)
                if not goes_on:
                    break
    return outcome


def begin(site: Served) -> None:
    """Switch on both triggers."""
    site.ask(START, sensor=PLACE | {"sensorName": "folder"}, schedule=PLACE | {"scheduleName": "daily"})


def step(site: Served, player: Player, outcome: Outcome, expected: Expected, first: int, is_over: bool) -> bool:
    """Play one event and wait for its results. Return False if the service must be started again."""
    scene, event = player.scene, expected.event
    what = f"event {outcome.times}, {event}"
    outcome.times += 1
    before = len(site.runs())
    if event in KILLS:
        player.arrive()
        site.wait_for(lambda: len(site.runs()) > before, PATIENCE)
        time.sleep(scene.rng.uniform(0, scene.seconds))
        KILLS[event](scene.paths, site)
        if event != "run":
            outcome.saw[event] += 1
            return False
    else:
        player.play(event)
    end = time.monotonic() + PATIENCE
    while not (reached := is_reached(scene, expected, first)) and time.monotonic() < end:
        time.sleep(1)
    if is_over and reached:
        time.sleep(LONG_ENOUGH)
        site.wait_for(lambda: all(run["status"] in service.ENDED for run in site.runs().values()), PATIENCE)
        reached = is_reached(scene, expected, first)
    found = (published(scene) - first, service.sent(scene.paths))
    outcome.must(reached, f"{what}: {found}, not {expected.builds} builds and {expected.alerts}")
    outcome.saw[event] += 1
    return True


def published(scene: Scene) -> int:
    """Return the largest number of a publication in the warehouse."""
    return max(builds.read_manifest(scene.paths, path.stem).number for path in scene.paths.builds.glob("*.json"))


def is_reached(scene: Scene, expected: Expected, first: int) -> bool:
    """Tell if so many builds were published, and these alerts sent."""
    return published(scene) - first == expected.builds and agree(service.sent(scene.paths), expected.alerts)
