"""The variables with which a command finds that its file system refuses calls of the system."""

from __future__ import annotations

import functools
import shutil
import subprocess
import tempfile
from pathlib import Path

import pytest

SOURCE = Path(__file__).with_name("refusing.c")


def refusing(below: Path, **calls: int) -> dict[str, str]:
    """The variables that have these calls refused below a folder, each with an error's number. Skips without a compiler."""
    listed = " ".join(f"{call}={code}" for call, code in calls.items())
    return {"LD_PRELOAD": str(_library()), "REFUSED_BELOW": str(below), "REFUSED": listed}


@functools.cache
def _library() -> Path:
    compiler = shutil.which("cc") or shutil.which("gcc")
    if compiler is None:
        pytest.skip("no C compiler here")
    library = Path(tempfile.mkdtemp(prefix="refusing-")) / "refusing.so"
    subprocess.run([compiler, "-shared", "-fPIC", "-O1", "-o", library, SOURCE, "-ldl"], check=True)
    return library
