"""Files: regular ones read within a limit, our own JSON files, and files that are written whole or not at all.

Opening a pipe waits for its other end, reading a device never ends, and a file of `/proc` reports no size. A source or
a warehouse may hold any of them in place of a file. A folder in which a process writes is locked, so that nothing in it
is removed meanwhile; containers that share a folder do not share the numbers of processes.
"""

from __future__ import annotations

import atexit
import contextlib
import errno
import fcntl
import functools
import io
import json
import os
import re
import secrets
import shutil
import stat
import tempfile
import time
from collections.abc import Generator, Iterable, Mapping
from datetime import datetime
from pathlib import Path
from typing import Annotated, Any, TypeVar

import msgspec

from dialogue_warehouse.common.database import literal
from dialogue_warehouse.errors import InputError, is_lacking, naming
from dialogue_warehouse.paths import BUILD_ID

LARGEST_FILE = 2 * 2**30
"""Most bytes of a file; ten times the largest release fits, and a machine of 4 GB is not stopped."""


def open_regular(path: Path) -> io.BufferedReader:
    """Open a file to read its bytes. Raises OSError, also for anything but a regular file."""
    _refuse_others(path, path.stat())
    stream = open(path, "rb", opener=lambda name, flags: os.open(name, flags | os.O_NONBLOCK))  # noqa: SIM115
    try:
        _refuse_others(path, os.fstat(stream.fileno()))  # it may have been replaced since
    except OSError:
        stream.close()
        raise
    return stream


def read_open(stream: io.BufferedReader, largest: int = LARGEST_FILE) -> bytes:
    """Read as many bytes of an open file as its size says. Raises OSError for more than `largest`."""
    size = os.fstat(stream.fileno()).st_size
    if size > largest:
        raise OSError(errno.EFBIG, f"larger than {largest:,} bytes, the limit for this file")
    return stream.read(size)


def read_regular(path: Path, largest: int = LARGEST_FILE) -> bytes:
    """Read a file. Raises OSError, also for anything but a regular file and for more than `largest` bytes."""
    with open_regular(path) as stream:
        return read_open(stream, largest)


def _refuse_others(path: Path, found: os.stat_result) -> None:
    if not stat.S_ISREG(found.st_mode):
        kind = errno.EISDIR if stat.S_ISDIR(found.st_mode) else errno.EINVAL
        raise OSError(kind, "not a regular file", str(path))


SECONDS, PAUSE = 5.0, 0.02
"""How long a writer waits for the lock, which is held for a moment only, and how often it tries."""


@contextlib.contextmanager
def writing_into(folder: Path) -> Generator[None]:
    """Hold a folder while a temporary file or folder is in it; several may, where the file system has locks."""
    with contextlib.ExitStack() as held:
        with contextlib.suppress(OSError):
            held.enter_context(_locked(folder, fcntl.LOCK_SH, SECONDS))
        yield


@contextlib.contextmanager
def alone_in(folder: Path) -> Generator[bool | None]:
    """Keep others from writing into a folder meanwhile; gives False when one is writing, None when nothing can tell."""
    with contextlib.ExitStack() as held:
        is_alone: bool | None = True
        try:
            held.enter_context(_locked(folder, fcntl.LOCK_EX, 0.0))
        except BlockingIOError:
            is_alone = False
        except OSError:
            is_alone = None
        yield is_alone


@contextlib.contextmanager
def _locked(folder: Path, kind: int, seconds: float) -> Generator[None]:
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    until = time.monotonic() + seconds
    try:
        while True:
            try:
                fcntl.flock(descriptor, kind | fcntl.LOCK_NB)
                break
            except BlockingIOError:
                if time.monotonic() >= until:
                    raise
                time.sleep(PAUSE)
        yield
    finally:
        os.close(descriptor)


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


PLAIN = re.compile(r"[\w./ -]+")
"""What no library reads as anything else. SQLAlchemy decodes `%20`, dbt renders braces and puts quotes into SQL."""


@functools.cache
def plain_path(folder: Path) -> Path:
    """The folder under a name of plain characters: its own, or that of a link which lasts as long as this process.

    The same each time, because dbt keeps what it has compiled between two selections.
    """
    if PLAIN.fullmatch(str(folder)):
        return folder
    place = tempfile.mkdtemp(prefix="dialogue-warehouse-")
    atexit.register(shutil.rmtree, place, ignore_errors=True)
    link = Path(place) / "folder"
    link.symlink_to(folder, target_is_directory=True)
    return link


READ_ONLY = 0o444
"""The mode of a published file: whoever connects to it without saying read-only is refused, not locked in."""
LEFTOVER = re.compile(r"\.(.+?)\.(?:[0-9]+\.)?[0-9]+\.(?:tmp|old)")
"""The name of what a process writes beside a file or a folder, or has put aside."""


def beside(path: Path, suffix: str) -> Path:
    """Give a name beside `path` that no other attempt, process or container has."""
    return path.with_name(f".{path.name}.{secrets.randbelow(10**15)}.{suffix}")


def leftover(name: str) -> str | None:
    """Read from the name of such a file what it would become; None for any other name."""
    found = LEFTOVER.fullmatch(name)
    return found[1] if found else None


@contextlib.contextmanager
def replacing(path: Path) -> Generator[Path]:
    """A place beside `path` to write to, which becomes `path` in one step when the block ends without an error.

    No two attempts of a process share a place: DuckDB may remove the file of a failed COPY after it has told of the
    failure, from a thread of its own.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = beside(path, "tmp")
    with writing_into(path.parent):
        try:
            with naming(path):
                yield temporary
                temporary.replace(path)
        finally:
            temporary.unlink(missing_ok=True)


def flush(file: Path) -> None:
    """Have the system put what a file holds on its disk, where the file system can be asked for that."""
    try:
        with naming(file), file.open("rb") as written:
            os.fsync(written.fileno())
    except OSError as error:
        if not is_lacking(error):
            raise


def make_read_only(file: Path) -> None:
    """Let no one write to a file, where the file system has modes."""
    try:
        file.chmod(READ_ONLY)
    except OSError as error:
        if not is_lacking(error):
            raise


def write_atomically(path: Path, content: bytes) -> None:
    """Write a file of these bytes."""
    with replacing(path) as temporary:
        temporary.write_bytes(content)


def write_table(path: Path, columns: Mapping[str, str], rows: Iterable[Mapping[str, Any]]) -> None:
    """Write rows as Parquet; each has every column, and what else it has is left out.

    `columns` have the names of DuckDB's types, with [] behind that of a list's elements. Raises KeyError for a row that
    lacks a column, duckdb.Error for a value that cannot be made one of its type.
    """
    from dialogue_warehouse.common.database import connect
    from dialogue_warehouse.settings import Settings

    types = {name: [kind[:-2]] if kind.endswith("[]") else kind for name, kind in columns.items()}
    values = json.dumps([{name: row[name] for name in columns} for row in rows], default=datetime.isoformat)
    unnested = f"unnest(from_json_strict($rows, {literal(json.dumps([types]))}), max_depth := 2)"
    with replacing(path) as temporary, connect(Settings.from_environment()) as con:
        con.execute(f"copy (select {unnested}) to {literal(temporary)} (format parquet)", {"rows": values})
