"""Builds of sources that change, lie or are odd: what is told, what is refused, and what memory a build may take."""

from __future__ import annotations

import resource
import subprocess
import sys
from pathlib import Path

from tests.conftest import CLONE

ADDRESS_SPACE = 4 * 2**30


def test_build_runs_within_4_gb_of_address_space(awkward_releases: Path, tmp_path: Path) -> None:
    """F20: every build asked for 16 GiB at once, which a machine with less memory and swap refuses."""
    assert any(awkward_releases.glob("*/*.gz"))
    built = subprocess.run(
        [sys.executable, "-m", "pipelines.cli", "build", "--source", awkward_releases, "--warehouse", tmp_path],
        capture_output=True,
        text=True,
        cwd=CLONE,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_AS, (ADDRESS_SPACE, ADDRESS_SPACE)),
        check=False,
    )
    assert built.returncode == 0, built.stderr
    assert "published" in built.stdout
