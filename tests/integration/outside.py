"""Commands run without access to the outside, with every attempt to reach it recorded.

They run in a network that has only the loopback address, so that no attempt succeeds. strace, if installed, sees the
attempts of all their threads and children, however a library handles the failure.
"""

from __future__ import annotations

import ipaddress
import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from tests.running import processes_below

STRACE = shutil.which("strace")
TRACED = "connect,sendto,sendmsg,sendmmsg"
ADDRESS = re.compile(
    r'sin_port=htons\((\d+)\), sin_addr=inet_addr\("([^"]+)"\)'
    r'|sin6_port=htons\((\d+)\).*?inet_pton\(AF_INET6, "([^"]+)"'
)
RESOLVER = re.compile(r'sun_path=@?"([^"]*resolve[^"]*)"')
"""Service of the machine that looks up names for other processes."""
LOOK_UP = "53"


def closed_off(*command: object) -> list[str]:
    """Return the command that runs a command in a network without access to the outside. Skips if impossible."""
    as_root = () if os.geteuid() == 0 else ("--map-root-user",)
    separate = ["unshare", *as_root, "--net", "--pid", "--fork", "--kill-child"]
    separate += ["sh", "-c", 'ip link set lo up && exec "$@"', "sh"]
    if not shutil.which("unshare") or subprocess.run([*separate, "true"], capture_output=True, check=False).returncode:
        pytest.skip("no process can have its own network here")
    return [*separate, *map(str, command)]


def beside(closed: subprocess.Popen[bytes], *command: object) -> list[str]:
    """Return the command that runs a command in the network of a process that is closed off."""
    inside = next(iter(processes_below(closed.pid)), closed.pid)
    as_root = () if os.geteuid() == 0 else ("--user", "--preserve-credentials")
    return ["nsenter", "--target", str(inside), *as_root, "--net", *map(str, command)]


def watched(attempts: Path, *command: object) -> list[str]:
    """Return the command that runs a command so that strace writes its connections to the file."""
    if STRACE is None:
        return [*map(str, command)]
    options = ("--follow-forks", "--seccomp-bpf", "-qq", "--signal=none", "--string-limit=0", f"--trace={TRACED}")
    return [STRACE, *options, f"--output={attempts}", *map(str, command)]


def outside(attempts: Path) -> list[str]:
    """Return the addresses outside this machine, and the look-ups of names, which another server answers."""
    if STRACE is None:
        return []
    found = set()
    for line in attempts.read_text(encoding="utf-8", errors="replace").splitlines():
        for port, address, port6, address6 in ADDRESS.findall(line):
            of = ipaddress.ip_address(address or address6)
            of = getattr(of, "ipv4_mapped", None) or of
            if not of.is_loopback or LOOK_UP in (port, port6):
                found.add(f"{of} port {port or port6}")
        found |= {f"{name}, which looks names up" for name in RESOLVER.findall(line)}
    return sorted(found)


def quiet_environment(home: Path) -> dict[str, str]:
    """Return an environment without settings: it shows the default behavior of the project."""
    spoken = (
        "DIALOGUE_",
        "DAGSTER_",
        "DBT_",
        "GX_",
        "DO_NOT_TRACK",
        "HTTP_PROXY",
        "HTTPS_PROXY",
        "ALL_PROXY",
        "NO_PROXY",
    )
    kept = {name: value for name, value in os.environ.items() if not name.upper().startswith(spoken)}
    return kept | {"HOME": str(home)}
