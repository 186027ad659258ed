"""Copies of the clone, in which a test changes the code that a build runs."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

from tests.conftest import CLONE, run_command


def copy_clone(clone: Path) -> Path:
    """Copy the code that a build hashes, and dbt's stored parse results; return the folder of dbt's project.

    A build with the copy reads dbt's project there; it runs the code of this clone.
    """
    for folder in ("dialogue_warehouse", "pipelines", "expectations", "dbt_project"):
        shutil.copytree(CLONE / folder, clone / folder, ignore=shutil.ignore_patterns(".*"))
    return clone / "dbt_project"


def copy_with_unknown_split(clone: Path, corpus_id: str, where: str = "source_part = 'train'") -> Path:
    """Copy a clone in which these dialogues of a corpus have an unknown split, so that dbt's tests fail."""
    project = copy_clone(clone)
    model = project / f"models/intermediate/{corpus_id}/int_{corpus_id}__dialogues.sql"
    text = model.read_text(encoding="utf-8")
    edited = re.sub(
        r"({{ shared_split\(.*\) }}) as split", rf"case when {where} then 'holdout' else \1 end as split", text
    )
    assert edited != text
    model.write_text(edited, encoding="utf-8")
    return project


def build_with(project: Path, warehouse: Path, *options: str, **settings: str) -> subprocess.CompletedProcess[str]:
    """Build the sample, or the source in the options, with dbt's project of a copied clone."""
    return run_command("build", "--warehouse", warehouse, *options, clone=project.parent, **settings)
