"""Scripts that read exported files with the libraries they are made for, and the function that runs them.

`make validators` makes the environment of these libraries. A script prints a JSON value and imports nothing of the
project, so that a file is judged by what the library makes of it.
"""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path
from typing import Any

import pytest

FOLDER = Path(__file__).parent
ENVIRONMENT = FOLDER.parents[1] / ".venv-validators"
OFFLINE = {"HF_HUB_OFFLINE": "1", "HF_HUB_DISABLE_TELEMETRY": "1", "TRANSFORMERS_VERBOSITY": "error"}


def python() -> Path:
    """Return the Python of the environment. If it is not installed, the test is skipped, and fails in CI."""
    if not (ENVIRONMENT / ".ready").is_file():
        missing = "the libraries that read exports are not installed; `make validators` installs them"
        pytest.fail(missing) if os.environ.get("CI") else pytest.skip(missing)
    return ENVIRONMENT / "bin" / "python"


def run(script: str, *arguments: object) -> Any:
    """Run a script of this folder and return the JSON value that it prints."""
    command = [python(), "-I", FOLDER / script, *arguments]
    kept = {name: os.environ[name] for name in ("PATH", "HOME", "TMPDIR") if name in os.environ}
    completed = subprocess.run(
        list(map(str, command)), env=kept | OFFLINE, capture_output=True, text=True, check=False, timeout=300
    )
    assert completed.returncode == 0, completed.stderr
    return json.loads(completed.stdout)
