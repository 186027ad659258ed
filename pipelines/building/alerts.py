"""Send alerts: one message when builds or downloads begin to fail, or stop, and one when they succeed again.

A message goes to every channel that the settings name, and is always appended to a file of the warehouse. It has the
text of the errors, which name the corpus, the check and the first cases, and the path of the report. A message that
cannot be delivered fails nothing: the file records that too. No message contains a secret.
"""

from __future__ import annotations

import contextlib
import errno
import os
import posixpath
import re
import stat
import urllib.parse
from pathlib import Path

import msgspec
from msgspec import structs

from dialogue_warehouse.common import files
from dialogue_warehouse.common.text import visible, visible_lines
from dialogue_warehouse.errors import InputError
from dialogue_warehouse.paths import WarehousePaths
from dialogue_warehouse.settings import Settings
from dialogue_warehouse.storage import builds, health, ownership
from dialogue_warehouse.storage.health import Problem, Trouble

LINES = 12
"""Largest number of lines of an error in a message; the message counts the rest."""
LONGEST = 600
"""Largest number of characters of a line in a message."""
NOT_A_FILE = "a link, or not a regular file; remove it"


class Alert(msgspec.Struct, frozen=True, kw_only=True):
    """A line of the alerts file: one message, and where it could not be delivered."""

    at: str
    kind: str
    """`failure`, `recovery`, or `silence`: no check of the source finishes any more."""
    text: str
    undelivered: tuple[str, ...] = ()
    """Channels that it did not reach, with the reason."""


def tell_failure(paths: WarehousePaths, settings: Settings, error: str, is_in_part: bool = False) -> str | None:
    """Record that building has failed with these lines, and send a message, unless the last one said the same.

    A message that reached no recipient is sent again. Do nothing where the folder is not a warehouse and cannot become
    one. Return the reason if the message could not be recorded, else None.
    """
    if not _is_ours(paths):
        return None
    text = _shortened(error, settings)
    part = " in part" if is_in_part else ""
    message = f"The build of {paths.root} has failed{part}.\n{text}{_standing(paths)}"
    return _tell_once(paths, settings, paths.trouble, "failure", text, message, is_in_part)


def tell_failed_download(paths: WarehousePaths, settings: Settings, error: str) -> str | None:
    """Record that the download of releases has failed, and send a message, as for a build.

    Builds may succeed meanwhile, so it is a separate state. Return the reason if it could not be recorded, else None.
    """
    if not _is_ours(paths):
        return None
    text = _shortened(error, settings)
    message = f"The download for {paths.root} has failed.\n{text}{_standing(paths)}"
    return _tell_once(paths, settings, paths.download_trouble, "failure", text, message)


def tell_downloaded(paths: WarehousePaths, settings: Settings) -> str | None:
    """Send a message that the download succeeds again, if the last message said that it had failed.

    Return the reason if the message could not be recorded, else None.
    """
    return _tell_recovery(paths, settings, paths.download_trouble, f"The download for {paths.root}")


def _shortened(error: str, settings: Settings) -> str:
    """Return the lines of an error that a message has, without secrets."""
    text = _without_secrets("\n".join(visible(line) for line in error.splitlines() if line.strip()), settings)
    lines = [line[:LONGEST] for line in text.splitlines()]
    more = f"\nand {len(lines) - LINES:,} more lines" if len(lines) > LINES else ""
    return "\n".join(lines[:LINES]) + more


def tell_silence(paths: WarehousePaths, settings: Settings) -> tuple[Problem | None, str | None]:
    """Send a message if no check of the source has finished for too long, and one when a check has finished again.

    Each is sent once; a message that reached no recipient is sent again. It needs no other process: a timer of the
    system can call it. Return the problem, if there is one, and the reason if the message could not be recorded.
    """
    problem = health.overdue(paths, settings.heartbeat_hours)
    if problem is not None:
        hours = f"{settings.heartbeat_hours:g} hours (DIALOGUE_HEARTBEAT_HOURS)"
        message = (
            f"The warehouse {paths.root} has not been checked for more than {hours}.\n{problem.text}; "
            f"see if the daemon of Dagster, or the timer that builds, is running{_standing(paths)}"
        )
        return problem, _tell_once(paths, settings, paths.silence, "silence", problem.text, message)
    before = health.read_trouble(paths.silence)
    if before is None:
        return None, None
    text = f"The warehouse {paths.root} is checked again.\nBefore that, {before.text}{_standing(paths)}"
    alert, unrecorded = _tell(paths, settings, "recovery", text)
    if _is_delivered(alert, settings):
        with contextlib.suppress(OSError):
            files.remove(paths.silence)
    return None, unrecorded


def _tell_once(
    paths: WarehousePaths,
    settings: Settings,
    file: Path,
    kind: str,
    text: str,
    message: str,
    is_in_part: bool = False,
) -> str | None:
    """Record a failure in its file, and send the message unless it was sent for the same text.

    Return the reason if the message could not be recorded, else None.
    """
    before = health.read_trouble(file)
    if before is not None and before.is_over:
        before = None
    at = health.now()
    is_sent = before is not None and before.text == text and before.is_sent
    trouble = Trouble(text=text, since=before.since if before else at, at=at, is_in_part=is_in_part, is_sent=is_sent)
    _record(file, trouble)
    if is_sent:
        return None
    alert, unrecorded = _tell(paths, settings, kind, message)
    if _is_delivered(alert, settings):
        _record(file, structs.replace(trouble, is_sent=True))
    return unrecorded


def _is_delivered(alert: Alert, settings: Settings) -> bool:
    """Return whether a message has reached a recipient, or there is no channel."""
    channels = [url for url in (settings.alert_webhook, settings.alert_smtp) if url is not None]
    return not alert.undelivered or len(alert.undelivered) < len(channels)


def _record(file: Path, trouble: Trouble) -> None:
    """Record a failure. If that fails, the message is sent again next time."""
    with contextlib.suppress(OSError):
        files.write_atomically(file, msgspec.json.encode(trouble))


def _is_ours(paths: WarehousePaths) -> bool:
    """Return whether the folder is a warehouse. Make it one if possible; write nothing into another folder."""
    with contextlib.suppress(InputError):
        if not ownership.is_warehouse(paths):
            ownership.claim(paths)
        return True
    return False


def tell_success(paths: WarehousePaths, settings: Settings) -> str | None:
    """Send a message that building works again, if the last message said that it had failed.

    A message that reached no recipient is sent again by the next build. A build in which a damaged corpus fell back to
    its published files counts as a failure in part. Return the reason if the message could not be recorded, else None.
    """
    stale = health.stale_corpora(paths).items()
    left = "\n".join(fallback.describe(corpus_id) for corpus_id, fallback in stale)
    if left:
        return tell_failure(paths, settings, left, is_in_part=True)
    return _tell_recovery(paths, settings, paths.trouble, f"The build of {paths.root}")


def _tell_recovery(paths: WarehousePaths, settings: Settings, file: Path, subject: str) -> str | None:
    """Send a message that the subject succeeds again, if the file records a failure; remove it when it is delivered.

    Return the reason if the message could not be recorded, else None.
    """
    trouble = health.read_trouble(file)
    if trouble is None or not ownership.is_warehouse(paths):
        return None
    first, _, _ = trouble.text.partition("\n")
    since = f"It had failed since {trouble.since}: {first}"
    _record(file, structs.replace(trouble, is_over=True))
    alert, unrecorded = _tell(paths, settings, "recovery", f"{subject} succeeds again.\n{since}{_standing(paths)}")
    if _is_delivered(alert, settings):
        with contextlib.suppress(OSError):
            files.remove(file)
    return unrecorded


def _standing(paths: WarehousePaths) -> str:
    """Return the lines about what is published: the build, what it changed, and the path of the report."""
    lines = []
    with contextlib.suppress(InputError):
        build_id = builds.pointed_build(paths)
        lines.append(f"published: {f'build {build_id}' if build_id else 'nothing yet'}")
        if build_id and (changed := builds.read_manifest(paths, build_id).changed):
            lines.append(f"changed: {changed}")
    if (paths.reports / "index.html").is_file():
        lines.append(f"report: {paths.reports / 'index.html'}")
    return "".join(f"\n{line}" for line in lines)


def _tell(paths: WarehousePaths, settings: Settings, kind: str, text: str) -> tuple[Alert, str | None]:
    """Send a message to every channel and record it. Return it, and the reason if it could not be recorded."""
    from pipelines.building import channels  # needs libcurl, which most builds do not

    text = visible_lines(text)  # the path of the warehouse is not escaped yet
    undelivered = tuple(_without_secrets(place, settings)[:LONGEST] for place in channels.undelivered(settings, text))
    alert = Alert(at=health.now(), kind=kind, text=text, undelivered=undelivered)
    try:
        _append(paths.alerts, msgspec.json.encode(alert) + b"\n")
    except OSError as error:
        return alert, f"{paths.alerts}: an alert could not be recorded: {error.strerror}"
    return alert, None


def _append(path: Path, line: bytes) -> None:
    """Append a line to a file. Raises OSError, also for a link, a pipe or a device."""
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
    """Return the text without the secrets of the settings: whole or in part, in every spelling that a URL may have."""
    for url in filter(None, (settings.alert_webhook, settings.alert_smtp, settings.mirror)):
        parts = urllib.parse.urlsplit(url)
        secrets = [url, parts.username, parts.password, parts.query]
        secrets += [value for _, value in urllib.parse.parse_qsl(parts.query)]
        if url == settings.alert_webhook:  # such as the URL of a Slack webhook: anyone who has it can post there
            path = urllib.parse.unquote(parts.path)
            secrets += [path, posixpath.normpath(path)]
        for secret in secrets:
            if secret and len(secret) > 3:
                text = re.sub(_in_every_spelling(secret), "…", text, flags=re.IGNORECASE)
    return text


def _in_every_spelling(secret: str) -> str:
    """Return a pattern of all spellings of a part of a URL: each character as it is, or as the codes of its bytes."""
    return "".join(
        f"(?:{re.escape(character)}|{''.join(f'%{byte:02x}' for byte in character.encode('utf-8', 'replace'))})"
        for character in urllib.parse.unquote(secret)
    )
