"""Telling somebody: once when building begins to fail, and once when it is well again.

A message goes to every place that the settings name, and always into a file of the warehouse. It says what has failed,
in the words of the errors, which name corpus, check and first cases, and where the report is. What cannot be told fails
nothing: that too is told, in the file. No message has a secret in it.
"""

from __future__ import annotations

import contextlib
import smtplib
import ssl
import urllib.parse
from collections.abc import Iterator
from datetime import UTC, datetime
from email.message import EmailMessage

import msgspec

from pipelines.errors import InputError, first_line
from pipelines.intake import own_files, ownership, writing
from pipelines.paths import WarehousePaths
from pipelines.reading import builds
from pipelines.settings import Settings
from pipelines.visible import visible

SECONDS = 10.0
"""How long a server may take to be told."""
LINES = 12
"""Lines of an error that a message has; the rest is counted."""
LONGEST = 600
"""Characters of a line that a message has."""


class Trouble(msgspec.Struct, frozen=True):
    """What is wrong, kept until it is well again."""

    text: str
    since: str


class Told(msgspec.Struct, frozen=True, kw_only=True):
    """A line of the file: one message, and what became of it."""

    at: str
    kind: str
    """`failure` or `recovery`."""
    text: str
    undelivered: tuple[str, ...] = ()
    """Where it did not arrive, and why."""


def tell_failure(paths: WarehousePaths, settings: Settings, error: str, is_in_part: bool = False) -> None:
    """Tell that building has failed with these lines, unless that is what was told last.

    Says nothing where the folder is not a warehouse and cannot become one.
    """
    try:
        ownership.claim(paths)
    except InputError:  # nothing is written into a folder that the build was refused for
        return
    with contextlib.suppress(OSError):
        lines = [visible(line)[:LONGEST] for line in error.splitlines() if line.strip()]
        text = "\n".join(lines[:LINES])
        text += f"\nand {len(lines) - LINES:,} more lines" if len(lines) > LINES else ""
        text = _without_secrets(text, settings)
        trouble = _trouble(paths)
        if trouble is None or trouble.text != text:
            _keep(paths, Trouble(text, trouble.since if trouble else _now()))
            _tell(
                paths,
                settings,
                "failure",
                f"The build of {paths.root} has failed{' in part' if is_in_part else ''}.\n{text}{_standing(paths)}",
            )


def tell_success(paths: WarehousePaths, settings: Settings) -> None:
    """Tell that building is well again, where it was told that it was not.

    A build that had to leave a corpus as it was is none that is well.
    """
    left = "\n".join(_left_as_they_were(paths))
    if left:
        tell_failure(paths, settings, left, is_in_part=True)
        return
    with contextlib.suppress(OSError):
        trouble = _trouble(paths)
        if trouble is not None and ownership.is_warehouse(paths):
            own_files.remove(paths.trouble)
            since = f"It had failed since {trouble.since}: {trouble.text.splitlines()[0]}"
            _tell(paths, settings, "recovery", f"The build of {paths.root} is well again.\n{since}{_standing(paths)}")


def _left_as_they_were(paths: WarehousePaths) -> Iterator[str]:
    """The corpora of the published build whose source was damaged, a line each."""
    with contextlib.suppress(InputError):
        build_id = builds.pointed_build(paths)
        for corpus_id, carried in (builds.read_manifest(paths, build_id).carried if build_id else {}).items():
            if carried.is_damaged:
                yield carried.told_of(corpus_id)


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


def _tell(paths: WarehousePaths, settings: Settings, kind: str, text: str) -> None:
    """Send a message everywhere, and write it down with what became of it."""
    told = Told(at=_now(), kind=kind, text=text, undelivered=tuple(_undelivered(settings, text)))
    with paths.alerts.open("ab") as file:
        file.write(msgspec.json.encode(told) + b"\n")


def _undelivered(settings: Settings, text: str) -> Iterator[str]:
    """Send a message to every place; where it did not arrive, and why."""
    for place, send in (("webhook", _post), ("mail", _mail)):
        try:
            send(settings, text)
        except Exception as error:  # nothing that a server does may fail a build
            yield f"{place}: {_without_secrets(first_line(error), settings)[:LONGEST]}"


def _post(settings: Settings, text: str) -> None:
    if settings.alert_webhook is None:
        return
    import requests

    answer = requests.post(settings.alert_webhook, json={"text": text}, timeout=SECONDS, allow_redirects=False)
    if not answer.ok or answer.is_redirect:
        raise OSError(f"the server answers {answer.status_code}")


def _mail(settings: Settings, text: str) -> None:
    if settings.alert_smtp is None:
        return
    server = urllib.parse.urlsplit(settings.alert_smtp)
    message = EmailMessage()
    message["Subject"] = f"dialogue-warehouse: {text.splitlines()[0]}"
    message["From"] = settings.alert_from
    message["To"] = ", ".join(settings.alert_to)
    message.set_content(text)
    encryption = ssl.create_default_context()
    host, port = server.hostname or "localhost", server.port or (465 if server.scheme == "smtps" else 25)
    with (
        smtplib.SMTP_SSL(host, port, timeout=SECONDS, context=encryption)
        if server.scheme == "smtps"
        else smtplib.SMTP(host, port, timeout=SECONDS)
    ) as connection:
        if server.scheme == "smtp+starttls":
            connection.starttls(context=encryption)
        if server.username:
            connection.login(urllib.parse.unquote(server.username), urllib.parse.unquote(server.password or ""))
        connection.send_message(message)


def _without_secrets(text: str, settings: Settings) -> str:
    """The text without what the settings must not tell, whole or in part."""
    for url in filter(None, (settings.alert_webhook, settings.alert_smtp, settings.mirror)):
        parts = urllib.parse.urlsplit(url)
        secrets = [url, parts.username, parts.password, urllib.parse.unquote(parts.password or ""), parts.query]
        if url == settings.alert_webhook:
            secrets.append(parts.path)  # such as what Slack gives out: who knows it may write
        for secret in secrets:
            if secret and len(secret) > 3:
                text = text.replace(secret, "…")
    return text


def _trouble(paths: WarehousePaths) -> Trouble | None:
    with contextlib.suppress(InputError):
        return own_files.read(paths.trouble, Trouble, "what was told last")
    return None


def _keep(paths: WarehousePaths, trouble: Trouble) -> None:
    paths.root.mkdir(parents=True, exist_ok=True)
    writing.write_atomically(paths.trouble, msgspec.json.encode(trouble))


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds")
