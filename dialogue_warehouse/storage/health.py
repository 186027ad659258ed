"""The health of a warehouse, from facts in its files: the last attempt to build, stale corpora, the last check.

`status` prints it, and the alerts report it. Nothing here needs a running process: files alone say what happened.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Literal, get_args

import msgspec

from dialogue_warehouse.common import files
from dialogue_warehouse.common.files import BuildId
from dialogue_warehouse.common.text import command
from dialogue_warehouse.errors import InputError
from dialogue_warehouse.paths import WarehousePaths
from dialogue_warehouse.storage import builds, ownership, retention
from dialogue_warehouse.storage.checked import last_check
from dialogue_warehouse.storage.landed import Fallback

Kind = Literal[
    "nothing_published",
    "build_failed",
    "build_interrupted",
    "damaged_build",
    "stale_corpus",
    "no_check",
    "download_failed",
]
KINDS: tuple[str, ...] = get_args(Kind)
"""The kinds of problems that make a warehouse unhealthy."""


class Trouble(msgspec.Struct, frozen=True, kw_only=True):
    """A failure that lasts, and the alert about it."""

    text: str
    """The text of the error, without secrets."""
    since: str
    """The time of the first failure, in UTC."""
    at: str = ""
    """The time of the last failure; empty if another version recorded it."""
    is_in_part: bool = False
    """True if the build was published, but a damaged corpus fell back to its published files."""
    is_sent: bool = True
    """False if the alert has reached no recipient yet."""
    is_over: bool = False
    """True if builds succeed again, and the message about that has reached no recipient yet."""


def now() -> str:
    """Return the time in UTC, in ISO's form."""
    return datetime.now(UTC).isoformat(timespec="seconds")


def read_trouble(file: Path) -> Trouble | None:
    """Return the failure that a file records; None if there is none, or the file is damaged."""
    with contextlib.suppress(InputError):
        return files.read(file, Trouble, "the last alert")
    return None


@dataclass(frozen=True)
class Attempt:
    """The last attempt to build."""

    outcome: Literal["published", "failed", "interrupted", "running"]
    """`interrupted`: its process was stopped or killed before it published or failed."""
    at: str | None
    """The time of its end, or of its start if it has not ended; None if unknown."""
    since: str | None = None
    """If it failed: the time since when builds fail."""
    text: str = ""
    """If it failed: the text of the error."""


@dataclass(frozen=True)
class Problem:
    """A problem of the warehouse."""

    kind: Kind
    text: str
    """The problem in one line."""


class _Begun(msgspec.Struct, frozen=True):
    """The part of a running build's state that is read here."""

    build_id: BuildId
    started_at: str


def last_attempt(paths: WarehousePaths) -> Attempt | None:
    """Return the last attempt to build; None if there was none, or it left no trace."""
    begun, trouble = _begun(paths), read_trouble(paths.trouble)
    if begun is not None and _is_locked(paths):
        return Attempt("running", begun.started_at)
    failed = None
    if trouble is not None and not trouble.is_in_part and not trouble.is_over:
        failed = Attempt("failed", trouble.at or trouble.since, trouble.since, trouble.text)
    published = _published(paths)
    last = failed or published
    if begun is not None and (last is None or _is_before(last.at, begun.started_at)):
        return Attempt("interrupted", begun.started_at)
    return last


def _begun(paths: WarehousePaths) -> _Begun | None:
    """Return the build that has begun and was neither published nor removed."""
    with contextlib.suppress(InputError):
        begun = files.read(paths.scratch_state, _Begun, "the state of a build")
        if begun is not None and not paths.build_database(begun.build_id).is_file():
            return begun
    return None


def _is_locked(paths: WarehousePaths) -> bool:
    """Return whether a process holds the lock of the warehouse."""
    try:
        with files.locked(os.open(paths.lock, os.O_RDONLY | os.O_NOFOLLOW), fcntl.LOCK_SH, 0.0, 0.0):
            return False
    except BlockingIOError:
        return True
    except OSError:  # no lock, or a file system without locks
        return False


def _is_before(moment: str | None, other: str) -> bool:
    """Return whether a time is before the second of another one; False if either is unknown. Some have no fractions."""
    first, second = _moment(moment), _moment(other)
    return first is not None and second is not None and first < second.replace(microsecond=0)


def _moment(text: str | None) -> datetime | None:
    """Return a time in ISO's form as UTC; None if it is damaged."""
    with contextlib.suppress(ValueError):
        moment = datetime.fromisoformat(text or "")
        return moment if moment.tzinfo else moment.replace(tzinfo=UTC)
    return None


def _published(paths: WarehousePaths) -> Attempt | None:
    """Return the attempt that has published, or found that nothing has changed."""
    checked = last_check(paths)
    if checked is not None:
        return Attempt("published", checked.isoformat(timespec="seconds"))
    with contextlib.suppress(InputError):
        build_id = builds.pointed_build(paths)
        return Attempt("published", builds.read_manifest(paths, build_id).started_at) if build_id else None
    return None


def stale_corpora(paths: WarehousePaths) -> dict[str, Fallback]:
    """Return the corpora of the published build that fell back because their source was damaged or absent."""
    with contextlib.suppress(InputError):
        build_id = builds.pointed_build(paths)
        carried = builds.read_manifest(paths, build_id).carried if build_id else {}
        return {corpus_id: fallback for corpus_id, fallback in carried.items() if fallback.is_damaged}
    return {}


def find_problems(paths: WarehousePaths) -> Iterator[Problem]:
    """Yield what is wrong: nothing is published, the last build or download failed, a corpus is stale.

    Raises InputError.
    """
    if builds.pointed_build(paths) is None:
        build = command("build", warehouse=paths.root)
        yield Problem("nothing_published", f"nothing is published: run `{build}`")
    attempt = last_attempt(paths)
    if attempt is not None and attempt.outcome == "failed":
        first = next(iter(attempt.text.splitlines()), "")
        yield Problem("build_failed", f"the last build failed at {attempt.at}: {first}")
    elif attempt is not None and attempt.outcome == "interrupted":
        yield Problem("build_interrupted", f"the build that began at {attempt.at} was interrupted: build again")
    download = read_trouble(paths.download_trouble)
    if download is not None and not download.is_over:
        first = next(iter(download.text.splitlines()), "")
        yield Problem("download_failed", f"the last download failed at {download.at}: {first}")
    for corpus_id, fallback in stale_corpora(paths).items():
        yield Problem("stale_corpus", fallback.describe_as_stale(corpus_id))


def damage_of(paths: WarehousePaths, build_id: str) -> tuple[Path, ...]:
    """Return the files of a published build that are missing or have changed, also its manifest."""
    try:
        builds.read_manifest(paths, build_id)
    except InputError:
        return (paths.build_manifest(build_id), *damaged_files(paths, build_id))
    return tuple(damaged_files(paths, build_id))


def damaged_files(paths: WarehousePaths, build_id: str) -> list[Path]:
    """List the files that `builds.damage` lists, as a reader must see them.

    Between two steps of a publication the published file is still that of the build before, which is not damage. A
    build that another one has replaced meanwhile is not judged. A publication may also end between the steps of this
    function, so that only a file that is damaged twice counts.
    """
    damaged = _damaged_now(paths, build_id)
    return [file for file in _damaged_now(paths, build_id) if file in damaged] if damaged else []


def _damaged_now(paths: WarehousePaths, build_id: str) -> list[Path]:
    damaged = builds.damage(paths, build_id)
    if damaged and builds.pointed_build(paths) != build_id:
        return []
    if paths.published in damaged and _is_locked(paths) and _is_being_published(paths, build_id):
        damaged.remove(paths.published)
    return damaged


def _is_being_published(paths: WarehousePaths, build_id: str) -> bool:
    """Return whether the published file will be replaced by this build: it is missing at first, or of another build."""
    with contextlib.suppress(InputError):
        started = files.read(paths.started_publication, builds.Pointer, "the name of a build")
        if started is not None and started.build_id == build_id:
            return True
    for other in retention.kept_builds(paths):
        with contextlib.suppress(InputError):
            database = builds.read_manifest(paths, other).database
            if other != build_id and database and builds.is_as_published(paths.published, database):
                return True
    return False


def overdue(paths: WarehousePaths, hours: float, now: datetime | None = None) -> Problem | None:
    """Return a problem if no check of the source has finished for this number of hours.

    Without a recorded check, the hours are counted from the start of the published build, or else from the moment at
    which the folder became a warehouse.
    """
    last = last_check(paths)
    start = last or _beginning(paths)
    if start is None or (now or datetime.now(UTC)) - start <= timedelta(hours=hours):
        return None
    what = "no check of the source has finished since" if last else "no check of the source has ever finished, since"
    return Problem("no_check", f"{what} {start.isoformat(timespec='seconds')}")


def _beginning(paths: WarehousePaths) -> datetime | None:
    """Return the start of the published build, or the time of the mark of the warehouse; None if it is not one."""
    if not ownership.is_warehouse(paths):
        return None
    published = _published(paths)
    if published is not None and (moment := _moment(published.at)) is not None:
        return moment
    with contextlib.suppress(OSError):
        return datetime.fromtimestamp(paths.mark.stat().st_mtime, UTC)
    return None
