"""`check-corpus` runs from any folder."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from dialogue_warehouse.corpora import registry

CORPUS = registry.corpus_ids()[0]


def test_tests_of_the_clone_are_found_from_another_folder(tmp_path: Path) -> None:
    """Regression: child processes of the command import nothing from their working folder."""
    variables = {name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", "DIALOGUE_"))}
    command = [sys.executable, "-P", "-m", "dialogue_warehouse", "check-corpus", CORPUS, "--no-tests"]
    checked = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path, env=variables, check=False)
    assert (checked.returncode, checked.stderr) == (0, "")
    for step in ("files", "agreement", "texts", "fixtures", "README", "dictionary"):
        assert f"{step:<11} ok\n" in checked.stdout
    assert f"{'rules':<11} ok after " in checked.stdout
