"""What we write for ourselves and read again, as JSON: anything may have happened to it meanwhile."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import TypeVar

import msgspec

from pipelines.errors import InputError
from pipelines.intake.regular_files import LARGEST_FILE, read_regular

Content = TypeVar("Content")


def read(path: Path, content: type[Content], what: str, largest: int = LARGEST_FILE) -> Content | None:
    """What stands in a file of ours, None when it is not there.

    Raises InputError, in one line with the file, when something else stands in its place; `what` says what should.
    """
    try:
        return msgspec.json.decode(read_regular(path, largest), type=content)
    except FileNotFoundError:
        return None
    except OSError as error:
        raise InputError(f"{path}: cannot be read as {what}: {error.strerror or error}") from error
    except (msgspec.MsgspecError, RecursionError) as error:
        raise InputError(f"{path}: is not {what}: {error}") from error


def remove(path: Path) -> None:
    """Remove whatever stands in the place of a file of ours; what a link leads to stays."""
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path)
    else:
        path.unlink(missing_ok=True)
