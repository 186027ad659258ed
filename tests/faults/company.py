"""Builds together with another build, a program that changes their files, readers, or another clock."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from pathlib import Path

from dialogue_warehouse.paths import CLONE
from dialogue_warehouse.storage import builds
from tests.faults.reading import start_readers, stop_readers
from tests.faults.scene import PATIENCE, Ended, Outcome, Scene, content

QUERIES = ("select count(*) from core.fct_turns", "select max(build_id) from quality.builds")
LARGEST_GROWTH = {"memory": 1.1, "memory of a run": 1.1, "handles": 1.0, "disk": 1.1, "runs": 1.0, "history": 1.1}
"""Maximum growth of the last builds, compared with the builds after the first thirty."""
COUNTED = {"handles", "runs"}
"""The values that are numbers; the others are in MiB."""
FAKETIME = next(Path("/usr/lib").glob("*/faketime/libfaketimeMT.so.1"), None)
"""The library that gives a process another time (Debian: apt-get install faketime); None if it is not installed."""


def two_builds(scene: Scene, times: int) -> Outcome:
    """Two builds start at the same time: one succeeds, the other reports that a build is running."""
    outcome = Outcome()
    for number in range(times):
        what = f"pair {number}"
        one = scene.start("build", "--source", scene.source, "--quiet")
        other = subprocess.Popen(
            [
                sys.executable,
                "-m",
                "dialogue_warehouse",
                "build",
                "--quiet",
                "--source",
                scene.source,
                "--warehouse",
                scene.paths.root,
            ],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            cwd=CLONE,
        )
        _, reported = other.communicate(timeout=PATIENCE)
        first = scene.finish(one)
        both = sorted([(first.status, first.stderr), (other.returncode, reported)])
        outcome.must([status for status, _ in both] == [0, 1], f"{what}: {both}")
        scene.judge(outcome, Ended(both[1][0], "", both[1][1]), {1}, what)
        scene.recover(outcome, what)
        scene.restore()
    return outcome


def changed_while_read(scene: Scene, times: int) -> Outcome:
    """A file of a release is rewritten many times while a build reads it, completely or truncated at any byte."""
    outcome = Outcome()
    file = scene.source / "sgd" / "dev" / "dialogues_001.json"
    before = (scene.kept / "source" / file.relative_to(scene.source)).read_bytes()
    for number in range(times):
        what = f"change {number}"
        build = scene.start("build", "--source", scene.source, "--quiet")
        until = time.monotonic() + scene.rng.uniform(1, scene.seconds)
        while build.poll() is None and time.monotonic() < until:
            file.write_bytes(before[: scene.rng.randrange(len(before))] if scene.rng.random() < 0.5 else before)
        file.write_bytes(before)
        scene.judge(outcome, scene.finish(build), {0, 1, 2}, what)
        scene.recover(outcome, what)
        scene.restore()
    return outcome


def clock_set_back(scene: Scene, times: int) -> Outcome:
    """The clock of the machine has been set back by hours when the second build starts."""
    if FAKETIME is None:
        return Outcome(lacking="libfaketime is not installed")
    outcome = Outcome()
    for number in range(times):
        seconds = int(min(3600 * (number + 1), time.monotonic() / 2))  # it is faked since the machine began, too
        ended = scene.build(LD_PRELOAD=str(FAKETIME), FAKETIME=f"-{seconds}s")
        what = f"{seconds} seconds back"
        scene.judge(outcome, ended, {0}, what)
        outcome.must(content(scene.paths.published) == scene.after, f"{what}: another build is published")
        outcome.must(builds.published_build(scene.paths)[0] != scene.first, f"{what}: the earlier build is published")
        scene.recover(outcome, what)
        scene.restore()
    return outcome


def readers(scene: Scene, times: int) -> Outcome:
    """Four readers run 52 queries per second in total while builds are made and published."""
    outcome = Outcome(times=times)
    halt = scene.folder / "halt"
    running = start_readers(scene.paths, halt, QUERIES)
    other = scene.kept / "source" / "sgd" / "dev" / "dialogues_001.json"
    file = scene.source / other.relative_to(scene.kept / "source")
    whole = {builds.published_build(scene.paths)[0]}
    for number in range(times):
        dialogues = json.loads(other.read_text())
        file.write_text(json.dumps(dialogues[(times - number - 1) % 2 :]))  # the last time what it was
        ended = scene.build()
        outcome.must(ended.status == 0, f"build {number}: {ended.stderr[-300:]}")
        whole.add(builds.published_build(scene.paths)[0])
    reported = stop_readers(running, halt)
    failures = [failure for one in reported for failure in one["failures"]]
    seen = [json.loads(answers) for one in reported for answers in one["seen"]]
    outcome.must(not failures, f"{len(failures)} queries failed, the first: {failures[:1]}")
    outcome.must(len({build_id for _, build_id in seen}) > times // 2, "the readers saw hardly any of the builds")
    counts = {build_id: {turns for turns, of in seen if of == build_id} for build_id in {of for _, of in seen}}
    outcome.must(counts.keys() <= whole, f"readers saw builds that were never published: {counts.keys() - whole}")
    outcome.must(all(len(turns) == 1 for turns in counts.values()), f"readers saw a mix of builds: {counts}")
    queries = sum(one["queries"] for one in reported)
    outcome.saw[f"{queries - queries % 100:,} queries or more, of which {len(failures)} failed"] += 1
    outcome.left[scene.left(outcome)] += 1
    scene.restore()
    return outcome


def many_builds(scene: Scene, times: int) -> Outcome:
    """The daily schedule ticks this many times, with a changed source each time; Dagster starts every run."""
    outcome = Outcome(times=times)
    script = Path(__file__).with_name("soak.py")
    measured = scene.folder / "measured.jsonl"
    kept = scene.kept / "source" / "sgd" / "dev" / "dialogues_001.json"
    run = subprocess.run(
        [sys.executable, str(script), str(scene.paths.root), str(scene.source), str(kept), str(times), str(measured)],
        capture_output=True,
        text=True,
        cwd=CLONE,
        check=False,
    )
    outcome.must(run.returncode == 0, f"ended with {run.returncode}: {run.stderr[-500:]}")
    rows = [json.loads(line) for line in measured.read_text().splitlines()] if measured.exists() else []
    outcome.must(len(rows) == times, f"{len(rows)} builds of {times}")
    if len(rows) == times and times > 60:
        for name, growth in LARGEST_GROWTH.items():
            early, late = max(row[name] for row in rows[30:60]), max(row[name] for row in rows[-30:])
            outcome.must(late <= early * growth, f"{name} grew from {early:,} to {late:,}")
            unit = "" if name in COUNTED else " MiB"
            outcome.saw[f"{name}: at most {early:,}{unit} in builds 31 to 60, {late:,}{unit} in the last 30"] += 1
    outcome.left[scene.left(outcome)] += 1
    scene.restore()
    return outcome
