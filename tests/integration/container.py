"""Image without a container engine: the steps of a Dockerfile, run on top of this machine's own root.

The steps write to an overlay in memory that ends with the test, in separate namespaces for mounts, processes, and a
network that has only the loopback address. This machine and the environment of the tests replace the base image of the
Dockerfile, so that the packages of its lock are already installed and pip downloads nothing.
"""

from __future__ import annotations

import io
import json
import os
import re
import shlex
import shutil
import string
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from docker.utils import exclude_paths
from dockerfile_parse import DockerfileParser

from tests.running import processes_below

SYSTEM_PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
HOLD = """
set -e
mount -t tmpfs tmpfs "$1"
cd "$1"
mkdir upper work root
mount -t overlay overlay -o lowerdir=/,upperdir="$1/upper",workdir="$1/work" root
mount -t proc proc root/proc
mount --rbind /dev root/dev
ip link set lo up
echo ready
read -r _
"""


@dataclass
class Image:
    """Image, and the namespaces in which its steps run."""

    holder: int
    """Process that keeps the namespaces alive."""
    folder: str
    """Path of the image's root in those namespaces."""
    variables: dict[str, str] = field(default_factory=dict)
    arguments: dict[str, str] = field(default_factory=dict)
    workdir: str = "/"
    user: str = "0:0"
    entrypoint: list[str] = field(default_factory=list)
    command: list[str] = field(default_factory=list)
    healthcheck: list[str] = field(default_factory=list)
    volumes: list[str] = field(default_factory=list)

    @property
    def root(self) -> Path:
        """Return the root of the image, as this process reaches it."""
        return Path(f"/proc/{self.holder}/root{self.folder}")

    def path(self, absolute: str) -> Path:
        """Return a path of the image, as this process reaches it."""
        return self.root / absolute.lstrip("/")

    def entered(self, *command: str, user: str | None = None, **variables: str) -> list[str]:
        """Return the command that runs a command in the image."""
        given = {"PATH": f"{Path(sys.executable).parent}:{SYSTEM_PATH}"} | self.variables | variables
        uid, gid = (user or self.user).split(":")
        return [
            *("nsenter", "--target", str(self.holder), "--mount", "--net", "--pid", "--", "chroot", self.folder),
            *("env", "--ignore-environment", f"--chdir={self.workdir}"),
            *(f"{name}={value}" for name, value in given.items()),
            *("setpriv", f"--reuid={uid}", f"--regid={gid}", "--clear-groups", "--no-new-privs", *command),
        ]

    def written_by(self, user: str) -> list[str]:
        """Return the files that belong to this user in the image, except those of the machine's own root."""
        upper = self.root.with_name("upper")
        owner = int(user.split(":")[0])
        return ["/" + str(path.relative_to(upper)) for path in upper.rglob("*") if path.lstat().st_uid == owner]

    def run(self, *command: str, user: str | None = None, **variables: str) -> subprocess.CompletedProcess[str]:
        """Run a command in the image; never raises."""
        entered = self.entered(*command, user=user, **variables)
        return subprocess.run(entered, capture_output=True, text=True, check=False, timeout=300)

    def step(self, instruction: str, value: str, context: Path) -> None:
        """Run one instruction. An unknown instruction fails; no instruction is skipped."""
        if instruction == "RUN":
            ran = self.run("/bin/sh", "-c", value, **self.arguments)
            assert ran.returncode == 0, f"RUN {value}\n{ran.stdout}{ran.stderr}"
        elif instruction == "COPY":
            *sources, target = shlex.split(self._filled(value))
            self._copy(context, sources, target)
        elif instruction in ("ENV", "ARG"):
            variables = self.variables if instruction == "ENV" else self.arguments
            variables |= dict(part.split("=", 1) for part in shlex.split(self._filled(value)))
        elif instruction == "WORKDIR":
            self.workdir = self._filled(value)
            self.path(self.workdir).mkdir(parents=True, exist_ok=True)
        elif instruction == "USER":
            self.user = self._filled(value)
        elif instruction == "HEALTHCHECK":
            self.healthcheck = json.loads(value.partition("CMD ")[2])
        else:
            attributes = {"ENTRYPOINT": self.entrypoint, "CMD": self.command, "VOLUME": self.volumes}
            if instruction in attributes:
                attributes[instruction][:] = json.loads(value)
            else:
                assert instruction in ("FROM", "EXPOSE", "COMMENT"), instruction

    def _filled(self, value: str) -> str:
        return string.Template(value).substitute(self.arguments | self.variables)

    def _copy(self, context: Path, sources: list[str], target: str) -> None:
        """Copy files of the context: into a folder if the target ends with a slash; of a folder, copy its content."""
        files = context_files(context)
        for source in sources:
            copied = [file for file in files if file == source or file.startswith(f"{source}/")]
            assert copied, f"COPY: {source} is not in the context"
            for file in copied:
                below = Path(file).name if file == source else file.removeprefix(f"{source}/")
                place = self.path(str(Path(self.workdir) / target / below))
                place.parent.mkdir(parents=True, exist_ok=True)
                shutil.copy2(context / file, place)
                os.chown(place, 0, 0)


def context_files(context: Path) -> list[str]:
    """Return the files that are sent to the builder, by the rules of .dockerignore."""
    lines = (context / ".dockerignore").read_text(encoding="utf-8").splitlines()
    patterns = [line.strip() for line in lines if line.strip() and not line.startswith("#")]
    return sorted(file for file in exclude_paths(str(context), patterns) if (context / file).is_file())


def instructions(dockerfile: str) -> list[tuple[str, str]]:
    """Return the instructions of a Dockerfile, with their arguments."""
    parser = DockerfileParser(fileobj=io.BytesIO(dockerfile.encode()), env_replace=False)
    return [(part["instruction"], re.sub(r"\s+", " ", part["value"])) for part in parser.structure]


def build_image(dockerfile: Path, context: Path, folder: Path) -> Iterator[Image]:
    """Yield the image, as long as the generator is open. Skips the test if this machine does not allow namespaces."""
    missing = [name for name in ("unshare", "nsenter", "setpriv", "ip", "chroot") if not shutil.which(name)]
    if missing or os.geteuid() != 0:
        pytest.skip(f"the steps need {', '.join(missing) or 'root'}, to be carried out where they change nothing")
    places = {Path(place).stat().st_dev for place in (sys.prefix, sys.base_prefix, "/")}
    if len(places) > 1:
        pytest.skip("the environment of the tests is on another file system than /, which alone is overlaid")
    separate = ("unshare", "--mount", "--net", "--pid", "--fork", "--kill-child", "--propagation", "private")
    command = (*separate, "sh", "-c", HOLD, "sh", str(folder))
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as holding:
        assert holding.stdout is not None
        assert holding.stderr is not None
        try:
            if holding.stdout.readline() != b"ready\n":
                pytest.skip(f"no overlay can be laid over / here: {holding.stderr.read().decode()}")
            image = Image(next(iter(processes_below(holding.pid))), f"{folder}/root")
            for place in (Path(sys.executable), Path(sys.base_prefix) / "bin"):
                for parent in place.parents:  # the interpreter may be in the home folder of root
                    image.path(str(parent)).chmod(0o755)
            for instruction, value in instructions(dockerfile.read_text(encoding="utf-8")):
                image.step(instruction, value, context)
            yield image
        finally:
            holding.kill()


def until(is_so: Callable[[], bool], every: float, seconds: float = 90) -> None:
    """Wait until the condition is true; fail after the timeout."""
    deadline = time.monotonic() + seconds
    while not is_so():
        assert time.monotonic() < deadline
        time.sleep(every)
