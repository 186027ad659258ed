"""`make faults`: cause every fault many times, and write the results to its row of `docs/faults.md`."""

from __future__ import annotations

import argparse
import concurrent.futures
import functools
import os
import random
import sys
import tempfile
from collections import Counter
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, NamedTuple

from dialogue_warehouse.paths import CLONE
from tests import forked
from tests.faults import company, damage, killing, limits, service, week
from tests.faults.scene import Fault, Outcome, Scene

PAGE = CLONE / "docs" / "faults.md"
SEED = 12


class Row(NamedTuple):
    """A fault, and the number of times that `make faults` causes it."""

    name: str
    title: str
    happen: Callable[[Any, int], Outcome]
    times: int
    place: type[Scene] | type[week.Place] = Scene
    """The scene of the fault."""
    quick: Fault | None = None
    """The part of it that is a test, if another test does not have this fault; `tests/README.md` lists them."""


FAULTS = (
    Row("kill", "`kill -9` at a random moment of a build", killing.sent("SIGKILL"), 50, quick=killing.sent("SIGKILL")),
    Row("child", "`kill -9` of one of its processes", killing.child_killed, 20),
    Row("publishing", "`kill -9` before each step of publishing", killing.killed_at_steps(".publishing.json", 1), 60),
    Row("reporting", "`kill -9` while a build reports to Dagster", killing.killed_at_steps("runs/index.db", 12), 30),
    Row("sigterm", "SIGTERM at a random moment", killing.sent("SIGTERM"), 10),
    Row("sigint", "SIGINT (Ctrl-C) at a random moment", killing.sent("SIGINT"), 10),
    Row("sighup", "SIGHUP (the terminal is closed) at a random moment", killing.sent("SIGHUP"), 10),
    Row("disk", "the disk fills up at a random moment", limits.full_disk, 15),
    Row("memory", "little memory for the processes (0.3 to 2.5 GiB of address space)", limits.little_memory, 12),
    Row("limit", "little memory for the queries (20 to 500 MB)", limits.small_limit, 6),
    Row(
        "input",
        "the largest file of each corpus is damaged in ten ways, or the corpus is missing",
        damage.damaged_input,
        55,
        quick=functools.partial(damage.damaged_input, keep_going=False),
    ),
    Row("own", "a file of each kind in the warehouse is damaged in four ways", damage.damaged_own_file, 100),
    Row("changed", "a file of a release is rewritten while a build reads it", company.changed_while_read, 10),
    Row("two", "two builds start at the same time", company.two_builds, 10, quick=company.two_builds),
    Row("clock", "the clock is set back by several hours", company.clock_set_back, 3),
    Row("readers", "readers run 52 queries per second during builds", company.readers, 10),
    Row("many", "the schedule starts many builds", company.many_builds, 200),
    Row("run", "`kill -9` of a run of Dagster", service.killed(service.kill_run), 10),
    Row("daemon", "`kill -9` of Dagster's daemon while a run builds", service.killed(service.kill_daemon), 10),
    Row("service", "`kill -9` of all processes of Dagster while a run builds", service.killed(service.kill_all), 10),
    Row("week", week.TITLE, week.week, 200, week.Place),
)


def make_happen(row: Row, times: int, folder: Path) -> Outcome:
    """Cause a fault this many times, in a separate scene."""
    scene = row.place(folder, random.Random(f"{SEED} {row.name}"))
    try:
        return row.happen(scene, times)
    finally:
        scene.close()


def main() -> int:
    """Cause the faults. Return 1 if there was a problem, else 0."""
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--only", default="", help="names of faults, separated by commas")
    arguments.add_argument("--share", type=float, default=1, help="share of the usual number of times")
    arguments.add_argument("--at-once", type=int, default=os.cpu_count(), help="number of faults to cause in parallel")
    arguments.add_argument("--write", action="store_true", help=f"write the results to {PAGE.relative_to(CLONE)}")
    given = arguments.parse_args()
    asked = set(filter(None, given.only.split(",")))
    if unknown := asked - {row.name for row in FAULTS}:
        arguments.error(f"no such fault: {', '.join(sorted(unknown))}")
    rows = sorted((row for row in FAULTS if not asked or row.name in asked), key=lambda row: -row.times)
    outcomes: dict[str, Outcome] = {}
    with (
        tempfile.TemporaryDirectory(prefix="faults-") as folder,
        concurrent.futures.ThreadPoolExecutor(given.at_once) as pool,
    ):
        happening = {
            pool.submit(make_happen, row, max(1, round(row.times * given.share)), Path(folder)): row for row in rows
        }
        for happened in concurrent.futures.as_completed(happening):
            row = happening[happened]
            outcomes[row.name] = happened.result()
            tell(row, outcomes[row.name])
            if given.write:
                PAGE.write_text(page(outcomes, PAGE.read_text(encoding="utf-8")), encoding="utf-8")
    return 1 if any(outcome.problems for outcome in outcomes.values()) else 0


def tell(row: Row, outcome: Outcome) -> None:
    """Print the outcome of a fault."""
    lacking = f", because {outcome.lacking}" if outcome.lacking else ""
    print(f"{row.title}: {outcome.times} times{lacking}, {len(outcome.problems)} problems")
    for problem in outcome.problems:
        print(f"  {problem}")
    for counter in (outcome.saw, outcome.left):
        for what, count in counter.most_common(8):
            print(f"    {count} x {what[:300]}")
    sys.stdout.flush()


BEGIN, END = "<!-- faults: begin -->", "<!-- faults: end -->"


def page(outcomes: dict[str, Outcome], document: str) -> str:
    """Return the document with the table of faults between its markers; faults not caused now keep their written rows.

    Raises ValueError if it has no markers.
    """
    if document.count(BEGIN) != 1 or document.count(END) != 1:
        raise ValueError(f"the document has no part between {BEGIN} and {END}")
    before, _, rest = document.partition(BEGIN)
    written, _, after = rest.partition(END)
    kept = {line.split(" | ")[0].removeprefix("| "): line for line in written.splitlines() if line.startswith("| ")}
    lines = [
        "| fault | tested on | times | what the user saw | what readers saw afterwards | problems |",
        f"|{' --- |' * 6}",
    ]
    for row in FAULTS:
        if (outcome := outcomes.get(row.name)) is not None:
            cells = (
                row.title,
                datetime.now(tz=UTC).date().isoformat(),
                str(outcome.times),
                outcome.lacking or _described(outcome.saw),
                _described(outcome.left),
                str(len(outcome.problems)),
            )
            lines.append(f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in cells)} |")
        else:
            lines.append(kept.get(row.title, f"| {row.title} | not yet | | | | |"))
    table = "\n".join(lines)
    return f"{before}{BEGIN}\n{table}\n{END}{after}"


SHOWN = 6


def _described(counter: Counter[str]) -> str:
    first = [f"{text[:200].replace('<', '&lt;')} ({count})" for text, count in counter.most_common(SHOWN)]
    rest = sum(counter.values()) - sum(count for _, count in counter.most_common(SHOWN))
    return "<br>".join(first) + (f"<br>and {rest} others" if rest else "")


if __name__ == "__main__":
    try:
        sys.exit(main())
    finally:
        forked.end()
