"""Copies of the clone, in which a test changes what a build runs."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

from tests.conftest import CLONE


def copy_clone(clone: Path) -> Path:
    """Copy what a build runs, and what dbt keeps of its last parse; returns the folder of dbt's project."""
    for folder in ("dialogue_warehouse", "pipelines", "expectations", "dbt_project"):
        shutil.copytree(CLONE / folder, clone / folder, ignore=shutil.ignore_patterns(".*"))
    return clone / "dbt_project"


def build_with(project: Path, warehouse: Path, *options: str) -> subprocess.CompletedProcess[str]:
    """Build the sample with the project of a copied clone."""
    return subprocess.run(
        [sys.executable, "-m", "pipelines.cli", "build", "--warehouse", str(warehouse), *options],
        capture_output=True,
        text=True,
        cwd=project.parent,
        env={name: value for name, value in os.environ.items() if not name.startswith("DIALOGUE_")},
        check=False,
    )
