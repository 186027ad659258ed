"""Builds that end early: killed, interrupted, or killed between two steps of publishing."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
from pathlib import Path

from dialogue_warehouse.paths import CLONE
from tests.faults.scene import Fault, Outcome, Scene
from tests.running import processes_below

HOOKS = Path(__file__).parent / "hooks"


def child_killed(scene: Scene, times: int) -> Outcome:
    """Kill one of the build's processes at a random moment, as the system does when memory runs out.

    The process that Python starts to clean up after a killed process is left out: it uses little memory, and Python
    reports its death, which is harmless, in a traceback.
    """
    outcome = Outcome()
    for number in range(times):
        process = scene.start("build", "--source", scene.source, "--quiet")
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(scene.rng.uniform(1, scene.seconds))
        children = processes_below(process.pid)
        victims = [child for child, command in children.items() if "resource_tracker" not in command]
        victim = scene.rng.choice(sorted(victims)) if victims else process.pid
        with contextlib.suppress(ProcessLookupError):
            os.kill(victim, signal.SIGKILL)
        what = f"{number}, {children.get(victim, 'the build')[:60]}"
        scene.judge(outcome, scene.finish(process), {0, 1, -signal.SIGKILL}, what)
        scene.none_left_running(outcome, children, what)
        scene.recover(outcome, what)
        scene.restore()
    return outcome


def killed_at_steps(file: str, stride: int) -> Fault:
    """Return a fault that kills a build before a step that changes a file, counted from the first step about `file`.

    The first build is killed before the first step, and each next one `stride` steps later; with a small SHARE of
    `make faults`, nine times as many.
    """

    def happen(scene: Scene, times: int) -> Outcome:
        outcome = Outcome()
        step, between = 1, stride if times > 20 else 9 * stride
        while outcome.times < times:
            ended = scene.build(PYTHONPATH=f"{HOOKS}{os.pathsep}{CLONE}", FAULT_STEP=str(step), FAULT_FROM=file)
            if ended.status == 0:  # there is no such step any more
                scene.restore()
                break
            scene.judge(outcome, ended, {-signal.SIGKILL}, f"step {step}")
            scene.recover(outcome, f"step {step}")
            scene.restore()
            step += between
        outcome.must(outcome.times > 0, f"no step about {file} was found")
        return outcome

    return happen


def sent(name: str) -> Fault:
    """Return a fault that sends a signal at a random moment of a build. After a request to end, the build prints one word."""
    number = signal.Signals[name]
    status = -number if number == signal.SIGKILL else 128 + number

    def happen(scene: Scene, times: int) -> Outcome:
        outcome = Outcome()
        for one in range(times):
            what = f"{name} {one}"
            ended, children = scene.interrupt(name, scene.rng.uniform(0.5, scene.seconds * 1.1))
            scene.judge(outcome, ended, {status, 0}, what)
            scene.none_left_running(outcome, children, what)
            scene.recover(outcome, what)
            scene.restore()
        return outcome

    return happen
