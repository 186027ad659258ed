"""Ownership of a folder: the mark that makes it a warehouse, and the lock for writing.

The mark is the first file that is written into a new or empty folder. In a folder without it nothing is written or
removed. Warehouses of versions that wrote no mark are recognized by their files, and get one. One process at a time
holds the lock, which the system releases when the process ends, so that no lock is ever stale.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import re
from collections.abc import Generator, Iterator
from pathlib import Path

import msgspec
from msgspec import Struct

from dialogue_warehouse.common import files
from dialogue_warehouse.common.files import BuildId, read_regular
from dialogue_warehouse.corpora import registry
from dialogue_warehouse.errors import BuildError, InputError
from dialogue_warehouse.paths import BUILD_ID, WarehousePaths, refuse_undecodable

FORMAT = 1
"""The layout version of the warehouses that this version reads and writes."""
NO_CONTENT = frozenset({"lost+found", ".DS_Store", ".gitkeep", ".gitignore"})
"""Names in a folder that still counts as empty: a file system, a file manager or git created them."""
OF_DAGSTER = frozenset({"dagster.yaml", "history", "schedules", "storage", "logs", ".telemetry", ".nux"})
"""Files that Dagster writes into the folder of DAGSTER_HOME before it loads the code of this project."""
PROJECT, ITS_NAME = "dbt_project/dbt_project.yml", re.compile(r"^name: dialogue_warehouse$", re.MULTILINE)
"""The file beside `warehouse/` in a clone of this project, and the line that identifies it."""


class Mark(Struct, frozen=True):
    """The content of the mark."""

    format: int


class _Pointer(Struct, frozen=True):
    """The part of the pointer that all versions share."""

    build_id: BuildId


def claim(paths: WarehousePaths) -> None:
    """Make the folder a warehouse: create it and write the mark, if either is missing.

    Raises InputError, before anything is written, for a folder with foreign files.
    """
    refuse_foreign(paths)
    try:
        paths.root.mkdir(parents=True, exist_ok=True)
        with contextlib.suppress(FileExistsError), paths.mark.open("xb") as mark:
            mark.write(_content())
        if _read_mark(paths) is None:
            files.write_atomically(paths.mark, _content())
    except OSError as error:
        raise InputError(f"{paths.root}: cannot be a warehouse: {error.strerror}") from error


def refuse_foreign(paths: WarehousePaths) -> None:
    """Raise InputError for a folder that cannot become a warehouse, and for links inside a warehouse."""
    root = paths.root
    refuse_undecodable(root)
    real = Path(os.path.realpath(root))
    if real == Path(real.anchor) or real == _home():
        raise InputError(f"{root}: cannot be a warehouse; choose a folder below it with --warehouse")
    if root.is_symlink() and not root.exists():
        raise InputError(f"{root}: is a broken link; choose another folder with --warehouse")
    if not root.exists():
        return
    if not root.is_dir():
        raise InputError(f"{root}: is not a folder; choose a folder with --warehouse")
    if (foreign := _foreign_entry(paths)) is not None:
        raise InputError(
            f"{root}: is not empty and is not a warehouse ({foreign} is in it); "
            "choose an empty or a new folder with --warehouse"
        )
    for link in _links(paths):
        raise InputError(f"{link}: is a link, and links inside a warehouse are not followed; remove it")
    mark = _read_mark(paths)
    if mark is not None and mark.format > FORMAT:
        raise InputError(
            f"{root}: is a warehouse of format {mark.format}, which needs a newer version of dialogue-warehouse; "
            "choose another folder with --warehouse"
        )


def is_warehouse(paths: WarehousePaths) -> bool:
    """Return whether a folder is a warehouse of this or an earlier version."""
    with contextlib.suppress(OSError):
        return _is_marked(paths) or (paths.root.is_dir() and _is_of_an_earlier_version(paths, _names(paths)))
    return False


def warehouse_of(file: Path) -> Path | None:
    """Return the warehouse that this path is, or that owns it; None if there is none."""
    real = Path(os.path.realpath(file))
    for folder in (real, *real.parents):
        paths = WarehousePaths(folder)
        is_inside = real == folder or any(real.is_relative_to(place) for place in paths.places)
        if is_inside and is_warehouse(paths):
            return folder
    return None


def refuse_owned(path: Path) -> None:
    """Raise InputError for a warehouse, and for a path inside one to which only a build may write."""
    if (warehouse := warehouse_of(path)) is not None:
        is_whole = Path(os.path.realpath(path)) == warehouse
        belongs = "is a warehouse" if is_whole else f"belongs to the warehouse {warehouse}"
        raise InputError(f"{path} {belongs}: choose a path outside of it")


def _home() -> Path | None:
    """Return the user's home folder, if the user has one."""
    with contextlib.suppress(RuntimeError):
        return Path(os.path.realpath(Path.home()))
    return None


def _content() -> bytes:
    return msgspec.json.encode(Mark(FORMAT)) + b"\n"


def _is_marked(paths: WarehousePaths) -> bool:
    return paths.mark.is_file() and not paths.mark.is_symlink()


def _read_mark(paths: WarehousePaths) -> Mark | None:
    """Read the mark; None if it is damaged, for example while another build is writing it."""
    try:
        return files.read(paths.mark, Mark, "the mark of a warehouse")
    except InputError:
        return None


def _foreign_entry(paths: WarehousePaths) -> str | None:
    """Name a foreign entry of a folder; None if the folder is a warehouse or can become one."""
    try:
        names = _names(paths)
    except OSError as error:
        raise InputError(f"{paths.root}: cannot be read: {error.strerror}") from error
    is_home = os.path.realpath(os.environ.get("DAGSTER_HOME") or os.devnull) == os.path.realpath(paths.root)
    foreign = [name for name in names if name not in NO_CONTENT and not (is_home and name in OF_DAGSTER)]
    # The mark is checked last: a build that began meanwhile writes it before anything else.
    if not foreign or _is_of_an_earlier_version(paths, names) or _is_marked(paths):
        return None
    own = {place.name for place in paths.places}
    return next((name for name in foreign if name not in own), foreign[0])


def _is_of_an_earlier_version(paths: WarehousePaths, names: list[str]) -> bool:
    """Return whether a version without marks made this folder, or if it came with a clone."""
    return _has_builds(paths) or _was_begun(paths, names) or _has_downloads(paths, names) or _is_of_a_clone(paths)


def _has_builds(paths: WarehousePaths) -> bool:
    """Return whether a build was published here, or its publication had begun."""
    for pointer in (paths.pointer, paths.started_publication):
        with contextlib.suppress(InputError):
            if files.read(pointer, _Pointer, "the name of a build") is not None:
                return True
    return any(BUILD_ID.fullmatch(database.stem) for database in paths.builds.glob("*.duckdb"))


def _was_begun(paths: WarehousePaths, names: list[str]) -> bool:
    """Return whether the folder has only the files of an interrupted first build, or of Dagster before any build."""
    if not _only(names, *paths.places):
        return False
    has_lock = paths.lock.is_file() and paths.lock.stat().st_size == 0
    worked = paths.dbt_target.is_dir() or not (paths.scratch.exists() or paths.scratch_spark.exists())
    return worked and (has_lock or paths.dagster_home.is_dir())


def _has_downloads(paths: WarehousePaths, names: list[str]) -> bool:
    """Return whether the folder contains only the default folder of `fetch`."""
    if not _only(names, paths.landing) or not paths.landing.is_dir():
        return False
    folders = {folder.name for folder in paths.landing.iterdir()} - NO_CONTENT
    return bool(folders) and folders <= set(registry.corpus_ids())


def _is_of_a_clone(paths: WarehousePaths) -> bool:
    """Return whether this is the folder `warehouse/` of a clone of this project, which contains documents."""
    real = Path(os.path.realpath(paths.root))
    with contextlib.suppress(OSError, UnicodeDecodeError):
        return real.name == "warehouse" and bool(ITS_NAME.search(read_regular(real.parent / PROJECT).decode()))
    return False


def _names(paths: WarehousePaths) -> list[str]:
    return sorted(path.name for path in paths.root.iterdir())


def _only(names: list[str], *places: Path) -> bool:
    own = {place.name for place in places} | NO_CONTENT
    return all(name in own or files.leftover(name) in own for name in names)


def _links(paths: WarehousePaths) -> Iterator[Path]:
    """Yield the links among the files and folders that a build writes to."""
    yield from (place for place in paths.places if place != paths.landing and place.is_symlink())
    for folder in (paths.raw, paths.sample):
        for corpus in _entries(folder):
            if corpus.is_symlink():
                yield corpus
            elif folder == paths.raw:
                yield from (entity for entity in _entries(corpus) if entity.is_symlink())
    yield from (file for file in _entries(paths.builds) if file.is_symlink() and BUILD_ID.match(file.name))


def _entries(folder: Path) -> Iterator[Path]:
    with contextlib.suppress(OSError):
        yield from folder.iterdir()


class BusyError(BuildError):
    """Another build is running, so this one did not start."""


PAUSE = 1.0
"""Seconds between two attempts to get the lock."""
MOMENT = 0.2
"""Seconds that every attempt takes at least: `status` holds the lock for a moment to find out if a build is running."""


@contextlib.contextmanager
def exclusive(paths: WarehousePaths, patience: float = 0.0) -> Generator[None]:
    """Hold the lock of the warehouse; the folder becomes a warehouse if it is not one yet.

    Raises BusyError if another build holds the lock for longer than `patience` seconds, and InputError if the folder
    cannot be a warehouse.
    """
    claim(paths)
    if paths.lock.is_dir() and not paths.lock.is_symlink():
        files.remove(paths.lock)
    try:
        opened = os.open(paths.lock, os.O_WRONLY | os.O_CREAT | os.O_NOFOLLOW, 0o644)
    except OSError as error:
        raise InputError(f"{paths.lock}: cannot be written: {error.strerror}") from error
    with contextlib.ExitStack() as held:
        try:
            pause = min(PAUSE, patience or MOMENT / 4)
            held.enter_context(files.locked(opened, fcntl.LOCK_EX, max(patience, MOMENT), pause))
        except BlockingIOError:
            raise BusyError(f"{paths.root}: another build is running") from None
        except OSError as error:
            raise InputError(
                f"{paths.root}: its file system has no locks ({error.strerror}); use another one, such as a local disk"
            ) from error
        yield
