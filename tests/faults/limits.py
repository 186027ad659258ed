"""Builds that lack space on the disk or memory."""

from __future__ import annotations

import shutil
import signal
import subprocess
import sys

from tests.faults.scene import Ended, Outcome, Scene
from tests.running import ALONE

MEGABYTE = 1 << 20
ABORTED = (127, -signal.SIGABRT, -signal.SIGSEGV, -signal.SIGKILL)
"""Statuses of a process that ends because the C library gets no memory; such a process prints nothing."""


def full_disk(scene: Scene, times: int) -> Outcome:
    """Another program fills a small disk at a random moment of a build; afterwards there is space again."""
    if subprocess.run([*ALONE, "mount -t tmpfs tmpfs /mnt"], capture_output=True, check=False).returncode:
        return Outcome(lacking="no separate disk can be mounted")
    outcome = Outcome()
    place = scene.paths.root
    for _ in range(times):
        moment = scene.rng.uniform(1, scene.seconds)
        build = f"{sys.executable} -m dialogue_warehouse build --quiet --source {scene.source} --warehouse {place}"
        kept = scene.folder / "on_disk"
        shutil.copytree(place, kept, symlinks=True)
        script = (
            f"mount -t tmpfs -o size=150m tmpfs {place} && cp -a {kept}/. {place}/ && "
            f"(sleep {moment:.2f}; cat /dev/zero > {place}/filler 2>/dev/null) & filler=$!; "
            f"sleep 0.5; {build} 2> {scene.folder}/stderr; status=$?; wait $filler; rm {place}/filler; "
            f"rm -rf {kept}; cp -a {place} {kept}; exit $status"
        )
        run = subprocess.run([*ALONE, script], capture_output=True, text=True, check=False)
        shutil.rmtree(place)
        kept.rename(place)
        ended = Ended(run.returncode, run.stdout, (scene.folder / "stderr").read_text())
        what = f"disk filled after {moment:.2f} s"
        scene.judge(outcome, ended, {0, 1}, what)
        scene.recover(outcome, what)
        scene.restore()
    return outcome


def little_memory(scene: Scene, times: int) -> Outcome:
    """Limit the address space of the processes of a build: from far too little to nearly enough."""
    outcome = Outcome()
    for number in range(times):
        size = int((0.3 + 2.2 * number / max(times - 1, 1)) * 1024) * MEGABYTE
        ended = scene.command("build", "--source", scene.source, "--quiet", before=("prlimit", f"--as={size}", "--"))
        what = f"{size // MEGABYTE} MiB of address space"
        scene.judge(outcome, ended, {0, 1, 2, *ABORTED}, what)
        scene.recover(outcome, what)
        scene.restore()
    return outcome


def small_limit(scene: Scene, times: int) -> Outcome:
    """`DIALOGUE_MEMORY_LIMIT` is too small for the models."""
    outcome = Outcome()
    for limit in ("300MB", "20MB", "320MB", "350MB", "400MB", "500MB")[:times]:
        ended = scene.build(DIALOGUE_MEMORY_LIMIT=limit)
        scene.judge(outcome, ended, {0, 1, 2}, f"a limit of {limit}")
        scene.recover(outcome, f"a limit of {limit}")
        scene.restore()
    return outcome
