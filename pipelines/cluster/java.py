"""The Java that Spark runs on: found, and refused in one line where it is missing or too old."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from pathlib import Path

from pipelines.errors import InputError

LEAST = 17
"""The oldest Java that Spark 4 runs on."""
SECONDS = 30
"""After which a Java that says nothing is given up."""


def check() -> None:
    """Raise InputError unless there is a Java that Spark can run on: that of `JAVA_HOME`, else the one of `PATH`."""
    home = os.environ.get("JAVA_HOME")
    program = str(Path(home) / "bin" / "java") if home else shutil.which("java")
    needed = f"Spark needs Java {LEAST} or later"
    mend = "install it (Debian: apt-get install openjdk-17-jre-headless) or set JAVA_HOME"
    if program is None:
        raise InputError(f"{needed}, and there is none: {mend}")
    try:
        told = subprocess.run([program, "-version"], capture_output=True, text=True, timeout=SECONDS, check=False)
    except (OSError, subprocess.TimeoutExpired) as error:
        raise InputError(f"{needed}, and {program} does not run ({type(error).__name__}): {mend}") from error
    version = version_of(told.stderr + told.stdout)
    if version is None or version < LEAST:
        raise InputError(
            f"{needed}, and {program} is {f'Java {version}' if version else 'none that says its version'}: {mend}"
        )


def version_of(text: str) -> int | None:
    """The major version that `java -version` tells: 17 of "17.0.15", 8 of "1.8.0_402"; None where it tells none."""
    found = re.search(r'version "(?:1\.)?(\d+)', text)
    return int(found[1]) if found else None
