"""Variables that make a command's file system refuse system calls."""

from __future__ import annotations

import functools
import shutil
import subprocess
import tempfile
from pathlib import Path

import pytest

SOURCE = Path(__file__).with_name("refusing.c")


def refusing(below: Path, **calls: int) -> dict[str, str]:
    """Return the variables that make these system calls fail below a folder, each with its errno. Skips without cc."""
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
