"""Files: reads within a size limit, this project's JSON files, and writes that are complete or not done."""

from __future__ import annotations

import atexit
import contextlib
import errno
import fcntl
import filecmp
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

from dialogue_warehouse.common.database import connect, literal
from dialogue_warehouse.errors import InputError, counted, is_lacking, naming
from dialogue_warehouse.paths import BUILD_ID, temporary_folder
from dialogue_warehouse.settings import Settings

LARGEST_FILE = 2 * 2**30
"""Maximum size of a file in bytes. Ten times the largest release fits, and 4 GB of memory suffice to read it."""


def open_regular(path: Path) -> io.BufferedReader:
    """Open a file to read its bytes. Raises OSError, also for anything that is not a regular file."""
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
    """Read a file. Raises OSError, also for anything that is not a regular file and for more than `largest` bytes."""
    with open_regular(path) as stream:
        return read_open(stream, largest)


def refuse_no_folder(folder: Path, advice: str = "") -> None:
    """Raise InputError if no folder that can be read is at this path. `advice` follows the words of a missing one."""
    if not folder.is_dir():
        raise InputError(f"{folder}: is not a folder" if folder.exists() else f"{folder}: no such folder{advice}")
    if not os.access(folder, os.R_OK | os.X_OK, effective_ids=True):
        raise InputError(f"{folder}: {os.strerror(errno.EACCES)}")


def _refuse_others(path: Path, found: os.stat_result) -> None:
    if not stat.S_ISREG(found.st_mode):
        kind = errno.EISDIR if stat.S_ISDIR(found.st_mode) else errno.EINVAL
        raise OSError(kind, "not a regular file", str(path))


SECONDS, PAUSE = 5.0, 0.02
"""Seconds that a writer waits for the lock, which is held only briefly, and seconds between its attempts."""


@contextlib.contextmanager
def writing_into(folder: Path) -> Generator[None]:
    """Hold a shared lock on a folder while a temporary file or folder is in it. Without file locks it does nothing."""
    with contextlib.ExitStack() as held:
        with contextlib.suppress(OSError):
            held.enter_context(_folder_locked(folder, fcntl.LOCK_SH, SECONDS))
        yield


@contextlib.contextmanager
def alone_in(folder: Path) -> Generator[bool | None]:
    """Keep others from writing into a folder; yield False if someone writes there, None if the system cannot tell."""
    with contextlib.ExitStack() as held:
        is_alone: bool | None = True
        try:
            held.enter_context(_folder_locked(folder, fcntl.LOCK_EX, 0.0))
        except BlockingIOError:
            is_alone = False
        except OSError:
            is_alone = None
        yield is_alone


def _folder_locked(folder: Path, kind: int, seconds: float) -> contextlib.AbstractContextManager[None]:
    return locked(os.open(folder, os.O_RDONLY | os.O_DIRECTORY), kind, seconds, PAUSE)


@contextlib.contextmanager
def locked(descriptor: int, kind: int, seconds: float, pause: float) -> Generator[None]:
    """Hold a lock on an open file or folder, and close it at the end; try again after each pause.

    Raises BlockingIOError if another process holds the lock for longer than `seconds`.
    """
    until = time.monotonic() + seconds
    try:
        while True:
            try:
                fcntl.flock(descriptor, kind | fcntl.LOCK_NB)
                break
            except BlockingIOError:
                if time.monotonic() >= until:
                    raise
                time.sleep(pause)
        yield
    finally:
        os.close(descriptor)


Content = TypeVar("Content")
_NAME = r"(?!\.{1,2}(?:/|\Z))[^/\x00]+"
"""A name inside a folder that never leads out of it."""


def _text(pattern: str) -> msgspec.Meta:
    return msgspec.Meta(pattern=rf"\A(?:{pattern})\Z")


BuildId = Annotated[str, _text(BUILD_ID.pattern)]
"""The id of a build. Files are named by it, so no other text is accepted."""
LandedPath = Annotated[str, _text(rf"(?:{_NAME}/){{2}}{_NAME}\.parquet")]
"""A landed file, relative to the raw layer."""
RawPath = Annotated[str, _text(rf"raw/(?:{_NAME}/){{2}}{_NAME}\.parquet")]
"""A landed file, relative to the warehouse."""
TablePath = Annotated[str, _text(rf"(?:{_NAME}/)+{_NAME}\.parquet")]
"""A Parquet file of a table, relative to the folder of its build."""

OTHER_TEXT = re.compile(r"Expected `str` matching regex '.*'")
"""Message of msgspec for a text that does not match a pattern. The pattern does not help a user."""


def read(path: Path, content: type[Content], what: str, largest: int = LARGEST_FILE) -> Content | None:
    """Read one of this project's JSON files; return None if it does not exist.

    Raises InputError, in one line with the path, if the content is something else. `what` describes the expected file.
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
    """Remove a file, folder or link at the path of a file of the warehouse. The target of a link stays."""
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path)
    else:
        path.unlink(missing_ok=True)


def remove_own(folder: str | Path, process: int) -> None:
    """Remove a temporary folder, unless this is a forked child of the process that made it."""
    if os.getpid() == process:
        shutil.rmtree(folder, ignore_errors=True)


PLAIN = re.compile(r"[\w./ -]+")
"""Text without special meaning in any library. SQLAlchemy decodes `%20`, dbt renders braces and quotes text in SQL."""


@functools.cache
def plain_path(folder: Path) -> Path:
    """Return the folder under a path of plain characters: its own, or a link that exists as long as this process.

    The path is the same at each call, because dbt keeps compiled results between two selections.
    """
    if PLAIN.fullmatch(str(folder)):
        return folder
    place = tempfile.mkdtemp(prefix="dialogue-warehouse-", dir=temporary_folder())
    atexit.register(remove_own, place, os.getpid())
    link = Path(place) / "folder"
    link.symlink_to(folder, target_is_directory=True)
    return link


WRITABLE = 0o222
"""The permissions that a published file lacks. A connection that is not read-only fails at once; otherwise it would
lock the file."""
LEFTOVER = re.compile(r"\.(.+?)\.(?:[0-9]+\.)?[0-9]+\.(?:tmp|old)")
"""The name of a file or folder that a process writes beside another, or has moved aside."""


def beside(path: Path, suffix: str) -> Path:
    """Return a name beside `path` that no other attempt, process or container has."""
    return path.with_name(f".{path.name}.{secrets.randbelow(10**15)}.{suffix}")


def leftover(name: str) -> str | None:
    """Return the final name of such a temporary file, or None for any other name."""
    found = LEFTOVER.fullmatch(name)
    return found[1] if found else None


@contextlib.contextmanager
def replacing(path: Path) -> Generator[Path]:
    """Yield a temporary path beside `path`; rename it to `path` in one step if the block ends without an error.

    No two attempts of a process share a temporary path: DuckDB may remove the file of a failed COPY from another
    thread, after it has reported the failure.
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
    """Flush the content of a file to disk, if the file system supports that."""
    try:
        with naming(file), file.open("rb") as written:
            os.fsync(written.fileno())
    except OSError as error:
        if not is_lacking(error):
            raise


def link_or_copy(file: Path, to: Path) -> None:
    """Make a hard link to a file, or a copy where the file system has no hard links."""
    try:
        os.link(file, to)
    except OSError:
        shutil.copyfile(file, to)


def make_read_only(file: Path) -> None:
    """Remove all write permissions of a file, if the file system has modes. Who may read it stays as it is."""
    try:
        file.chmod(stat.S_IMODE(file.stat().st_mode) & ~WRITABLE)
    except OSError as error:
        if not is_lacking(error):
            raise


def write_atomically(path: Path, content: bytes) -> None:
    """Write a file with these bytes, whole or not at all."""
    with replacing(path) as temporary:
        temporary.write_bytes(content)


@contextlib.contextmanager
def folder_made(folder: Path) -> Generator[None]:
    """Make a folder where there is none. If the context fails, remove each folder that was made and is still empty.

    Raises InputError if the folder, or one above it, is a file or a broken link.
    """
    refuse_in_the_way([folder])
    missing = [place for place in (folder, *folder.parents) if not os.path.lexists(place)]
    try:
        folder.mkdir(parents=True, exist_ok=True)
        yield
    except BaseException:
        for made in missing:
            with contextlib.suppress(OSError):  # it has files by now, or could not be made
                made.rmdir()
        raise


def refuse_in_the_way(folders: Iterable[Path]) -> None:
    """Raise InputError if one of these folders, or one above it, is a file or a broken link."""
    for folder in folders:
        for place in (folder, *folder.parents):
            if os.path.lexists(place) and not place.is_dir():
                what = "a file" if place.exists() else "a broken link"
                raise InputError(f"{place}: is {what}, but a folder is needed there; nothing was written")


def move_all(scratch: Path, folder: Path, paths: list[str], force: bool, kind: str) -> None:
    """Move complete files from one folder into another of the same file system; `kind` says what they are.

    Raises InputError, with nothing moved, if an existing file has other bytes and `force` is off, or is not a file, or
    if a file or a broken link is where a folder is needed, or a folder cannot be written or is on another file system.
    """
    there = [path for path in paths if os.path.lexists(folder / path)]
    strange = [path for path in there if not (folder / path).is_file()]
    if strange:
        raise InputError(f"{folder / strange[0]}: is not a file and is not overwritten")
    folders = list(dict.fromkeys((folder / path).parent for path in paths))
    refuse_in_the_way(folders)
    different = [path for path in there if not filecmp.cmp(folder / path, scratch / path, shallow=False)]
    if different and not force:
        number = len(different) - 1
        others = f", as {'does' if number == 1 else 'do'} {counted(number, 'more file')}" if number else ""
        raise InputError(
            f"{folder / different[0]}: exists and differs from the {kind} file"
            f"{others}; nothing was written; --force overwrites existing files"
        )
    for place in folders:
        place.mkdir(parents=True, exist_ok=True)
    if refused := [place for place in folders if not os.access(place, os.W_OK | os.X_OK, effective_ids=True)]:
        raise InputError(f"{refused[0]}: {os.strerror(errno.EACCES)}; nothing was written")
    device = scratch.stat().st_dev
    if elsewhere := [place for place in folders if place.stat().st_dev != device]:
        raise InputError(
            f"{elsewhere[0]}: is on another file system than {folder}, so the files cannot be moved there in one step; "
            "nothing was written; put a folder there instead of a link or a mount"
        )
    for path in paths:
        (scratch / path).replace(folder / path)


def write_table(path: Path, columns: Mapping[str, str], rows: Iterable[Mapping[str, Any]], settings: Settings) -> None:
    """Write rows as Parquet. Each row needs every column; other keys of a row are ignored.

    `columns` maps names to DuckDB's types; a list has [] behind the type of its elements. Raises KeyError for a row
    that lacks a column, duckdb.Error for a value that cannot be converted to its type.
    """
    write_tables({path: (columns, rows)}, settings)


def write_tables(
    tables: Mapping[Path, tuple[Mapping[str, str], Iterable[Mapping[str, Any]]]], settings: Settings
) -> None:
    """Write several tables like `write_table`, with one connection."""
    with connect(settings) as con:
        for path, (columns, rows) in tables.items():
            types = {name: [kind[:-2]] if kind.endswith("[]") else kind for name, kind in columns.items()}
            values = json.dumps([{name: row[name] for name in columns} for row in rows], default=datetime.isoformat)
            unnested = f"unnest(from_json_strict($rows, {literal(json.dumps([types]))}), max_depth := 2)"
            with replacing(path) as temporary:
                con.execute(f"copy (select {unnested}) to {literal(temporary)} (format parquet)", {"rows": values})
