"""The two kinds of error that a user sees: what was given is wrong, or a check failed. The message says it all.

Every error that this project raises for a user derives from one of them; anything else is a defect of the project.
"""

from __future__ import annotations

import contextlib
import errno
import importlib.util
import os
import re
from collections.abc import Generator, Iterator, Mapping
from types import MappingProxyType

NO_SPACE = os.strerror(errno.ENOSPC)
FULL = re.compile(r"disk is full|[Nn]o space left on device")
"""How SQLite and DuckDB say it."""


class InputError(ValueError):
    """What the user gave cannot be used; exit status 2. The message names corpus, file and position in one line."""


class CheckError(RuntimeError):
    """A check failed, or something could not be done; exit status 1. One line a failure."""

    def __init__(self, message: str, at_fault: Mapping[str, str] = MappingProxyType({})) -> None:
        """`at_fault` has the corpora whose rows failed, each with the first line about it; none where others did."""
        super().__init__(message)
        self.at_fault = at_fault


class BuildError(CheckError):
    """A check failed, or the build could not be made; nothing was published."""


EXTRAS = {
    "arrow": ("pyarrow",),
    "build": ("dagster", "dbt", "dagster_dbt", "great_expectations", "duckdb_engine", "pyarrow", "requests"),
    "dashboard": ("pyarrow", "streamlit"),
}
"""The modules that each extra of the package brings."""


def require_extra(extra: str, purpose: str) -> None:
    """Raise InputError where the modules of an extra are not installed; `purpose` needs them."""
    missing = next((module for module in EXTRAS[extra] if importlib.util.find_spec(module) is None), None)
    if missing is not None:
        install = f"pip install 'dialogue-warehouse[{extra}]'"
        raise InputError(f"{purpose} needs {missing}, which is not installed: `{install}` installs it")


@contextlib.contextmanager
def naming(path: object) -> Generator[None]:
    """Let an error of the system that names no file, as one of `write` or `fsync` does not, name this one."""
    try:
        yield
    except OSError as error:
        if error.errno is not None and error.filename is None:
            error.filename = str(path)
        raise


def is_lacking(error: OSError) -> bool:
    """Whether an error means that a file system does not have what it was asked for, such as modes or links."""
    return error.errno in (errno.EPERM, errno.EINVAL, errno.ENOSYS, errno.ENOTSUP, errno.EOPNOTSUPP)


def first_line(error: BaseException) -> str:
    """What a library's error says, in one line."""
    return str(error).splitlines()[0] if str(error) else type(error).__name__


def in_one_line(error: object, most: int | None = None) -> str:
    """Return all that an error of a library says, on one line of at most so many characters."""
    return " ".join(str(error).split())[:most] or type(error).__name__


def counted(number: int, noun: str) -> str:
    """So many of something, as English has it: 1 record, 2 records, 1,000 records."""
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


SQLITE_FULL = ("SQLITE_FULL", "SQLITE_IOERR_SHMSIZE")
"""What SQLite calls a disk on which its database, or the index of its log, finds no room. https://sqlite.org/rescode.html"""
SQLITE_NO_MEMORY = ("SQLITE_NOMEM", "SQLITE_IOERR_NOMEM", "SQLITE_IOERR_SHMMAP")
"""What it calls a process that gets no memory, or cannot map the index of its log."""
NO_MEMORY = re.compile(r"bad allocation|failed to map segment|[Cc]annot allocate memory")
"""How DuckDB, the loader of libraries and the system say that a process gets no memory."""


def is_full(error: BaseException) -> bool:
    """Whether a full disk is what an error came of, however a library tells it; an InputError may quote those words."""
    return any(
        getattr(cause, "errno", None) == errno.ENOSPC
        or getattr(cause, "sqlite_errorname", None) in SQLITE_FULL
        or (not isinstance(cause, InputError) and FULL.search(str(cause)) is not None)
        for cause in causes(error)
    )


def is_out_of_memory(error: BaseException) -> bool:
    """Whether the system giving no memory is what an error came of, however a library tells it."""
    return any(
        isinstance(cause, MemoryError)
        or getattr(cause, "errno", None) == errno.ENOMEM
        or getattr(cause, "sqlite_errorname", None) in SQLITE_NO_MEMORY
        or (not isinstance(cause, InputError | CheckError) and NO_MEMORY.search(str(cause)) is not None)
        for cause in causes(error)
    )


def said_by_sqlite(error: BaseException) -> str | None:
    """What SQLite says in one line, where an error of it is what this one came of; None for any other."""
    said = [cause for cause in causes(error) if getattr(cause, "sqlite_errorname", None)]
    return first_line(said[0]) if said else None


def causes(error: BaseException | None) -> Iterator[BaseException]:
    """The error and those it came of, each once: a library may have tied them into a ring."""
    seen = set()
    while error is not None and id(error) not in seen:
        seen.add(id(error))
        yield error
        error = error.__cause__ or error.__context__
