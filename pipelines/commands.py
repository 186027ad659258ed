"""Commands of this project as the user can type them: what every printed line that names one is made with."""

from __future__ import annotations

import shlex
import shutil
import sys
from pathlib import Path

from pipelines.settings import Settings

NAME = "dialogue-warehouse"


def command(*arguments: object, warehouse: Path | None = None) -> str:
    """The line that runs `dialogue-warehouse ARGUMENTS` in the user's shell, on this warehouse.

    `--warehouse` is said where the command would take another one without it.
    """
    words = [*_program(), *map(str, arguments)]
    if warehouse is not None and warehouse != Settings.from_environment().warehouse:
        words += ["--warehouse", shorter(warehouse)]
    return shlex.join(words)


def shorter(path: Path) -> str:
    """A path as the user's working folder would have it, where it lies below that."""
    here = Path.cwd()
    return str(path.relative_to(here)) if path.is_relative_to(here) else str(path)


def _program() -> list[str]:
    """What stands first in the line: the name where the shell finds it, else the path of the script that runs."""
    called = Path(sys.argv[0])
    script = called if called.name == NAME else Path(sys.executable).parent / NAME
    found = shutil.which(NAME)
    if not script.is_file() or (found and Path(found).samefile(script)):
        return [NAME]
    return [shorter(script.absolute())]
