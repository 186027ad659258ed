"""The two kinds of error that a user sees: the input is wrong, or a check failed. The message is complete.

Every error that this project raises for a user derives from one of them. Any other error is a bug of the project.
"""

from __future__ import annotations

import contextlib
import errno
import importlib.util
import os
import re
from collections.abc import Generator, Iterator, Mapping
from types import MappingProxyType

NO_SPACE, NO_QUOTA = os.strerror(errno.ENOSPC), os.strerror(errno.EDQUOT)
FULL = re.compile(r"disk is full|[Nn]o space left on device|[Qq]uota exceeded")
"""Messages of SQLite and DuckDB about a full disk, or a user's quota that is used up."""


class Error(Exception):
    """Any error that this project raises for a user. Its message can be shown as it is."""


class InputError(Error, ValueError):
    """The input of the user cannot be used: exit status 2. The message names corpus, file and position in one line."""

    def __init__(self, *lines: str) -> None:
        """Create the error, usually of one line."""
        super().__init__(*lines)

    def __str__(self) -> str:
        r"""Return the lines. A line end inside one, which a quoted key or name may have, is written as `\n`."""
        return "\n".join("\\n".join(line.splitlines()) for line in self.args)


class CheckError(Error, RuntimeError):
    """A check failed, or something could not be done: exit status 1. The message has one line per failure."""

    def __init__(self, message: str, at_fault: Mapping[str, str] = MappingProxyType({})) -> None:
        """Create the error; `at_fault` maps each corpus whose rows failed to its first line, and may be empty."""
        super().__init__(message)
        self.at_fault = at_fault


class BuildError(CheckError):
    """A check failed, or the build could not be made. Nothing was published."""


class DownloadError(CheckError):
    """A file cannot be downloaded from its URL, or differs from its checksum. The next call continues a cut one."""


EXTRAS = {
    "arrow": ("pyarrow",),
    "build": ("dagster", "dbt", "dagster_dbt", "great_expectations", "duckdb_engine", "pyarrow", "pycurl"),
}
"""The modules that each extra of the package brings."""


def require_extra(extra: str, purpose: str) -> None:
    """Raise InputError if a module of an extra is not installed; `purpose` is the part that needs the extra."""
    missing = next((module for module in EXTRAS[extra] if importlib.util.find_spec(module) is None), None)
    if missing is not None:
        install = f"pip install 'dialogue-warehouse[{extra}]'"
        raise InputError(f"{purpose} needs {missing}, which is not installed: `{install}` installs it")


@contextlib.contextmanager
def naming(path: object) -> Generator[None]:
    """Add this path to an OSError that names no file, such as one of `write` or `fsync`."""
    try:
        yield
    except OSError as error:
        if error.errno is not None and error.filename is None:
            error.filename = str(path)
        raise


def is_lacking(error: OSError) -> bool:
    """Return whether an error means that a file system does not support an operation, such as modes or links."""
    return error.errno in (errno.EPERM, errno.EINVAL, errno.ENOSYS, errno.ENOTSUP, errno.EOPNOTSUPP)


def first_line(error: BaseException) -> str:
    """Return the first line of a library's error, or the name of its type if it has no text."""
    return str(error).splitlines()[0] if str(error) else type(error).__name__


def in_one_line(error: object, most: int | None = None) -> str:
    """Return the whole text of a library's error on one line, cut to `most` characters."""
    return " ".join(str(error).split())[:most] or type(error).__name__


LONGEST_QUOTE = 300
"""Maximum number of characters of one value, key or pointer of a file that a message repeats."""


def quoted(value: object) -> str:
    """Return the text of a value for a message; a long one is cut in its middle, because keys differ at their ends."""
    text = str(value)
    half = LONGEST_QUOTE // 2
    return text if len(text) <= LONGEST_QUOTE else f"{text[:half]}…{text[-half:]}"


def counted(number: int, noun: str) -> str:
    """Write a number with its noun in singular or plural: 1 record, 2 records, 1,000 records."""
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


SQLITE_FULL = ("SQLITE_FULL", "SQLITE_IOERR_SHMSIZE")
"""Errors of SQLite when its database, or the index of its log, does not fit on the disk.
https://sqlite.org/rescode.html"""
SQLITE_NO_MEMORY = ("SQLITE_NOMEM", "SQLITE_IOERR_NOMEM", "SQLITE_IOERR_SHMMAP")
"""Errors of SQLite when a process gets no memory, or cannot map the index of its log."""
NO_MEMORY = re.compile(r"bad allocation|failed to map segment|[Cc]annot allocate memory")
"""Messages of DuckDB, the loader of libraries and the system when a process gets no memory."""


def is_full(error: BaseException) -> bool:
    """Return whether a full disk caused an error. An InputError does not count: it may quote the same words."""
    return any(
        getattr(cause, "errno", None) in (errno.ENOSPC, errno.EDQUOT)
        or getattr(cause, "sqlite_errorname", None) in SQLITE_FULL
        or (not isinstance(cause, InputError) and FULL.search(str(cause)) is not None)
        for cause in causes(error)
    )


def words_of_full(error: BaseException) -> str:
    """Return the system's words for the full disk that caused an error, or for the quota that is used up."""
    is_quota = any(
        getattr(cause, "errno", None) == errno.EDQUOT or "uota exceeded" in str(cause) for cause in causes(error)
    )
    return NO_QUOTA if is_quota else NO_SPACE


def is_out_of_memory(error: BaseException) -> bool:
    """Return whether memory ran out. InputError and CheckError do not count: they may quote the same words."""
    return any(
        isinstance(cause, MemoryError)
        or getattr(cause, "errno", None) == errno.ENOMEM
        or getattr(cause, "sqlite_errorname", None) in SQLITE_NO_MEMORY
        or (not isinstance(cause, InputError | CheckError) and NO_MEMORY.search(str(cause)) is not None)
        for cause in causes(error)
    )


def said_by_sqlite(error: BaseException) -> str | None:
    """Return the message of SQLite in one line if an SQLite error caused this one, else None."""
    said = [cause for cause in causes(error) if getattr(cause, "sqlite_errorname", None)]
    return first_line(said[0]) if said else None


def causes(error: BaseException | None) -> Iterator[BaseException]:
    """Yield the error and its causes, each once; a library may have linked them into a circle."""
    seen = set()
    while error is not None and id(error) not in seen:
        seen.add(id(error))
        yield error
        error = error.__cause__ or error.__context__
