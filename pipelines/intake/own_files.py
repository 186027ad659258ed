"""What we write for ourselves and read again, as JSON: anything may have happened to it meanwhile."""

from __future__ import annotations

import re
import shutil
from pathlib import Path
from typing import Annotated, TypeVar

import msgspec

from pipelines.errors import InputError
from pipelines.intake.regular_files import LARGEST_FILE, read_regular
from pipelines.paths import BUILD_ID

Content = TypeVar("Content")
_NAME = r"(?!\.{1,2}(?:/|\Z))[^/\x00]+"
"""A name inside a folder: it never leads out of it."""


def _text(pattern: str) -> msgspec.Meta:
    return msgspec.Meta(pattern=rf"\A(?:{pattern})\Z")


BuildId = Annotated[str, _text(BUILD_ID.pattern)]
"""The name of a build. Files are named by it, so nothing else is accepted where one is read."""
LandedPath = Annotated[str, _text(rf"(?:{_NAME}/){{2}}{_NAME}\.parquet")]
"""A landed file, relative to the raw layer."""
RawPath = Annotated[str, _text(rf"raw/(?:{_NAME}/){{2}}{_NAME}\.parquet")]
"""A landed file, relative to the warehouse."""
TablePath = Annotated[str, _text(rf"(?:{_NAME}/)+{_NAME}\.parquet")]
"""A Parquet file of a table, relative to the folder of its build."""

OTHER_TEXT = re.compile(r"Expected `str` matching regex '.*'")
"""What msgspec says of a text that is not of a pattern; the pattern tells a user nothing."""


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
        raise InputError(f"{path}: is not {what}: {OTHER_TEXT.sub('unexpected text', str(error))}") from error


def remove(path: Path) -> None:
    """Remove whatever stands in the place of a file of ours; what a link leads to stays."""
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path)
    else:
        path.unlink(missing_ok=True)
