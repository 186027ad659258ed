"""Builds that end before their time: killed, interrupted, killed between two steps of publishing."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
from pathlib import Path

from tests.faults.scene import Fault, Outcome, Scene
from tests.running import processes_below

HOOKS = Path(__file__).parent / "hooks"


def killed(scene: Scene, times: int) -> Outcome:
    """At a random moment of a build."""
    outcome = Outcome()
    for number in range(times):
        what = f"kill {number}"
        ended, children = scene.interrupt("SIGKILL", scene.rng.uniform(0, scene.seconds * 1.1))
        scene.judge(outcome, ended, {-signal.SIGKILL, 0}, what)
        scene.none_left_running(outcome, children, what)
        scene.recover(outcome, what)
        scene.restore()
    return outcome


def child_killed(scene: Scene, times: int) -> Outcome:
    """One of its processes is killed at a random moment, as the system does when memory runs out."""
    outcome = Outcome()
    for number in range(times):
        process = scene.start("build", "--source", scene.source, "--quiet")
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(scene.rng.uniform(1, scene.seconds))
        children = processes_below(process.pid)
        victim = scene.rng.choice(sorted(children)) if children else process.pid
        with contextlib.suppress(ProcessLookupError):
            os.kill(victim, signal.SIGKILL)
        what = f"{number}, {children.get(victim, 'the build')[:60]}"
        scene.judge(outcome, scene.finish(process), {0, 1, -signal.SIGKILL}, what)
        scene.none_left_running(outcome, children, what)
        scene.recover(outcome, what)
        scene.restore()
    return outcome


def killed_while_publishing(scene: Scene, times: int) -> Outcome:
    """Before each step that changes a file, from the first of publishing on; the steps spread evenly over `times`."""
    outcome = Outcome()
    step, stride = 1, 1 if times > 20 else 9
    while outcome.times < times:
        ended = scene.build(
            PYTHONPATH=str(HOOKS), FAULT_STEP=str(step), FAULT_FROM=scene.paths.started_publication.name
        )
        if ended.status == 0:  # there is no such step any more
            break
        scene.judge(outcome, ended, {-signal.SIGKILL}, f"step {step}")
        scene.recover(outcome, f"step {step}")
        scene.restore()
        step += stride
    outcome.must(outcome.times > 0, "no step of publishing was found")
    return outcome


def interrupted(name: str) -> Fault:
    """A signal that asks a build to end, at a random moment."""

    def happen(scene: Scene, times: int) -> Outcome:
        outcome = Outcome()
        for number in range(times):
            what = f"{name} {number}"
            ended, children = scene.interrupt(name, scene.rng.uniform(0.5, scene.seconds))
            scene.judge(outcome, ended, {128 + signal.Signals[name], 0}, what)
            scene.none_left_running(outcome, children, what)
            scene.recover(outcome, what)
            scene.restore()
        return outcome

    return happen
