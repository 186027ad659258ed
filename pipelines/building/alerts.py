"""Telling somebody: once when building begins to fail, and once when it is well again.

A message goes to every place that the settings name, and always into a file of the warehouse. It says what has failed,
in the words of the errors, which name corpus, check and first cases, and where the report is. What cannot be told fails
nothing: that too is told, in the file. No message has a secret in it.
"""

from __future__ import annotations

import contextlib
import errno
import os
import posixpath
import re
import stat
import urllib.parse
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import msgspec

from dialogue_warehouse.common import files
from dialogue_warehouse.common.text import visible
from dialogue_warehouse.errors import InputError
from dialogue_warehouse.paths import WarehousePaths
from dialogue_warehouse.settings import Settings
from dialogue_warehouse.storage import builds, ownership

LINES = 12
"""Lines of an error that a message has; the rest is counted."""
LONGEST = 600
"""Characters of a line that a message has."""
NOT_A_FILE = "a link, or not a regular file; remove it"


class Trouble(msgspec.Struct, frozen=True):
    """What is wrong, kept until it is well again."""

    text: str
    since: str


class Alert(msgspec.Struct, frozen=True, kw_only=True):
    """A line of the file: one message, and what became of it."""

    at: str
    kind: str
    """`failure` or `recovery`."""
    text: str
    undelivered: tuple[str, ...] = ()
    """Where it did not arrive, and why."""


def tell_failure(paths: WarehousePaths, settings: Settings, error: str, is_in_part: bool = False) -> str | None:
    """Tell that building has failed with these lines, unless that is what was told last.

    Says nothing where the folder is not a warehouse and cannot become one. Returns why the message could not be
    recorded, if it could not.
    """
    if not _is_ours(paths):
        return None
    text = _without_secrets("\n".join(visible(line) for line in error.splitlines() if line.strip()), settings)
    lines = [line[:LONGEST] for line in text.splitlines()]
    text = "\n".join(lines[:LINES])
    text += f"\nand {len(lines) - LINES:,} more lines" if len(lines) > LINES else ""
    trouble = _trouble(paths)
    if trouble is not None and trouble.text == text:
        return None
    with contextlib.suppress(OSError):  # then it is told again next time
        _keep(paths, Trouble(text, trouble.since if trouble else _now()))
    part = " in part" if is_in_part else ""
    return _tell(paths, settings, "failure", f"The build of {paths.root} has failed{part}.\n{text}{_standing(paths)}")


def _is_ours(paths: WarehousePaths) -> bool:
    """Tell if the folder is a warehouse, and make it one where that is possible; nothing is written into another."""
    with contextlib.suppress(InputError):
        if not ownership.is_warehouse(paths):
            ownership.claim(paths)
        return True
    return False


def tell_success(paths: WarehousePaths, settings: Settings) -> str | None:
    """Tell that building is well again, where it was told that it was not.

    A build that had to leave a corpus as it was is none that is well. Returns why the message could not be recorded, if
    it could not.
    """
    left = "\n".join(_left_as_they_were(paths))
    if left:
        return tell_failure(paths, settings, left, is_in_part=True)
    trouble = _trouble(paths)
    if trouble is None or not ownership.is_warehouse(paths):
        return None
    with contextlib.suppress(OSError):
        files.remove(paths.trouble)
    since = f"It had failed since {trouble.since}: {trouble.text.splitlines()[0]}"
    return _tell(paths, settings, "recovery", f"The build of {paths.root} is well again.\n{since}{_standing(paths)}")


def _left_as_they_were(paths: WarehousePaths) -> Iterator[str]:
    """The corpora of the published build whose source was damaged, a line each."""
    with contextlib.suppress(InputError):
        build_id = builds.pointed_build(paths)
        for corpus_id, fallback in (builds.read_manifest(paths, build_id).carried if build_id else {}).items():
            if fallback.is_damaged:
                yield fallback.describe(corpus_id)


def _standing(paths: WarehousePaths) -> str:
    """What readers see, what it changed, and where the report about it is."""
    lines = []
    with contextlib.suppress(InputError):
        build_id = builds.pointed_build(paths)
        lines.append(f"published: {f'build {build_id}' if build_id else 'nothing yet'}")
        if build_id and (changed := builds.read_manifest(paths, build_id).changed):
            lines.append(f"changed: {changed}")
    if (paths.reports / "index.html").is_file():
        lines.append(f"report: {paths.reports / 'index.html'}")
    return "".join(f"\n{line}" for line in lines)


def _tell(paths: WarehousePaths, settings: Settings, kind: str, text: str) -> str | None:
    """Send a message everywhere, and record it with what became of it; why that failed, if it did."""
    from pipelines.building import channels  # needs requests, which most builds do not

    undelivered = tuple(_without_secrets(place, settings)[:LONGEST] for place in channels.undelivered(settings, text))
    alert = Alert(at=_now(), kind=kind, text=text, undelivered=undelivered)
    try:
        _append(paths.alerts, msgspec.json.encode(alert) + b"\n")
    except OSError as error:
        return f"{paths.alerts}: an alert could not be recorded: {error.strerror}"
    return None


def _append(path: Path, line: bytes) -> None:
    """Write behind what a file has. Raises OSError, also for a link, a pipe or a device."""
    flags = os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_NOFOLLOW | os.O_NONBLOCK
    try:
        descriptor = os.open(path, flags, 0o644)
    except OSError as error:
        if path.is_symlink() or (path.exists() and not path.is_file()):
            raise OSError(error.errno, NOT_A_FILE) from error
        raise
    with os.fdopen(descriptor, "ab") as file:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            raise OSError(errno.EINVAL, NOT_A_FILE)
        file.write(line)


def _without_secrets(text: str, settings: Settings) -> str:
    """The text without what the settings must not tell, whole or in part, however it is written in URLs."""
    for url in filter(None, (settings.alert_webhook, settings.alert_smtp, settings.mirror)):
        parts = urllib.parse.urlsplit(url)
        secrets = [url, parts.username, parts.password, parts.query]
        secrets += [value for _, value in urllib.parse.parse_qsl(parts.query)]
        if url == settings.alert_webhook:  # such as what Slack gives out: who knows it may write
            path = urllib.parse.unquote(parts.path)
            secrets += [path, posixpath.normpath(path)]
        for secret in secrets:
            if secret and len(secret) > 3:
                text = re.sub(_in_every_spelling(secret), "…", text, flags=re.IGNORECASE)
    return text


def _in_every_spelling(secret: str) -> str:
    """A pattern of the ways to write a part of a URL: each character as it is, or as the codes of its bytes."""
    return "".join(
        f"(?:{re.escape(character)}|{''.join(f'%{byte:02x}' for byte in character.encode('utf-8', 'replace'))})"
        for character in urllib.parse.unquote(secret)
    )


def _trouble(paths: WarehousePaths) -> Trouble | None:
    with contextlib.suppress(InputError):
        return files.read(paths.trouble, Trouble, "what was told last")
    return None


def _keep(paths: WarehousePaths, trouble: Trouble) -> None:
    paths.root.mkdir(parents=True, exist_ok=True)
    files.write_atomically(paths.trouble, msgspec.json.encode(trouble))


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds")
