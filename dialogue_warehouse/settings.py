"""The one settings object, read from the environment, and the switches that turn telemetry off.

Every setting is a variable `DIALOGUE_<NAME>`. A setting is declared once, with its default, its parser and a docstring;
`python -m tests.settings_page` writes docs/settings.md from these declarations. A value that cannot be used is refused
in one line. The paths below the warehouse folder are in `dialogue_warehouse.paths`.
"""

from __future__ import annotations

import functools
import os
import random
import re
import sys
import typing
import urllib.parse
import zoneinfo
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from typing import Annotated, Any

import msgspec
from msgspec import Meta

from dialogue_warehouse.errors import InputError
from dialogue_warehouse.paths import DEFAULT_WAREHOUSE, absolute, refuse_root, refuse_undecodable

TELEMETRY_OFF = {
    "DO_NOT_TRACK": "1",
    "DAGSTER_DISABLE_TELEMETRY": "1",
    "DBT_SEND_ANONYMOUS_USAGE_STATS": "false",
    "GX_ANALYTICS_ENABLED": "false",
}

RELEASE_FORM = "release"
"""The form of the publishers' own files."""
FORMS = (RELEASE_FORM, "huggingface")
"""The forms in which a release can be read."""
FORMATS = ("table", "vertical", "json", "jsonl", "csv", "markdown", "parquet")
"""The output formats of rows; the default is a table if it fits, else vertical."""
DUCKDB, SPARK = ENGINES = ("duckdb", "spark")
"""The engines that can run the models."""
DUCKDB_TABLES, PARQUET_TABLES = TABLES = ("duckdb", "parquet")
"""The formats of the published tables: one DuckDB file, or Parquet files."""
TEXT_LOG, JSON_LOG = LOG_FORMATS = ("text", "json")
"""The forms of the progress of a command: lines for a reader, or events as JSON."""
PREFIX = "DIALOGUE_"
"""The beginning of the name of every variable that is a setting."""
ALMOST = 0.8
"""Similarity of two names, from 0 to 1, from which on one is a misspelling of the other."""
SWITCHES = dict.fromkeys(("1", "true", "yes", "on"), True) | dict.fromkeys(("0", "false", "no", "off"), False)
"""The values of a switch, in upper or lower case."""
PER_CORE = 4
"""Threads and processes allowed per core; with more, a build is slower."""
MOST = 1_000
"""The maximum of every other number, except of seconds."""
MOST_SECONDS = 7 * 24 * 3600
"""The maximum of a number of seconds: a week."""
LONGEST_WAIT = 120.0
"""Longest wait before a file is requested again, in seconds."""
MOST_MEMORY = "1000TB"
"""The maximum of a size; DuckDB does not accept much larger ones."""


class SettingsError(InputError):
    """A setting has a value that cannot be used."""


Read = Callable[[str], Any]
"""Reads the text of a setting, without blanks around it. Raises ValueError with what is wrong with it."""


def _read(read: Read, text: str, asked_by: str) -> Any:
    """Read the text of an option or variable. Raises SettingsError."""
    try:
        return read(text if read is _folder else text.strip())  # a folder's name may end in a blank
    except ValueError as error:
        raise SettingsError(f"{asked_by}: {error}") from None


def corpora_named(texts: Iterable[str], asked_by: str) -> tuple[str, ...]:
    """List the corpora that an option or variable names, separated by commas. Raises SettingsError for none.

    Whether there is such a corpus is known to `dialogue_warehouse.corpora.registry` alone.
    """
    return _read(_corpora, ",".join(texts), asked_by)


def folder_named(text: str, asked_by: str) -> Path:
    """Read the path of a local folder; `asked_by` is the option or variable that has it. Raises SettingsError."""
    return _read(_folder, text, asked_by)


def has_host(url: str, schemes: tuple[str, ...]) -> bool:
    """Return whether this is a URL of one of these schemes that names a host which a name server could know."""
    try:
        parts = urllib.parse.urlsplit(url)
        # Raises a ValueError for a..b, also with other dots, and for a part of over 63 characters.
        (parts.hostname or "").encode("idna").decode().encode("idna")
        return parts.scheme in schemes and bool(parts.hostname) and parts.port != 0
    except ValueError:
        return False


def is_mirror(url: str) -> bool:
    """Return whether files can be downloaded from below this URL."""
    if has_host(url, ("http", "https")):
        return True
    try:
        parts = urllib.parse.urlsplit(url)
    except ValueError:
        return False
    return parts.scheme == "file" and parts.hostname in (None, "localhost")


def _limited(kind: Any, otherwise: str) -> Read:
    """Return a reader of values of a type with limits; `otherwise` says what is wrong with any other text."""

    def read(text: str) -> Any:
        try:
            return msgspec.convert(text, kind, strict=False)
        except msgspec.ValidationError:
            raise ValueError(f"'{text}' is {otherwise}") from None

    return read


def _count(most: int, of: str = "") -> Read:
    return _limited(Annotated[int, Meta(ge=1, le=most)], f"not a number from 1 to {most}{of}")


def _number(unit: str, most: int) -> Read:
    return _limited(Annotated[float, Meta(gt=0, le=most)], f"not a positive number of {unit}, up to {most}")


def _text(pattern: str, otherwise: str) -> Read:
    return _limited(Annotated[str, Meta(pattern=rf"\A(?:{pattern})\Z")], otherwise)


def _choice(choices: tuple[str, ...]) -> Read:
    return _text("|".join(choices), f"not one of {', '.join(choices)}")


def _url(is_url: Callable[[str], bool], forms: str) -> Read:
    """Return a reader of URLs. An error does not repeat the URL, because it may contain a password."""

    def read(text: str) -> str:
        if not is_url(text):
            raise ValueError(f"not a URL of the form {forms}")
        return text

    return read


def bytes_of(size: str) -> int:
    """Return the bytes of a size in DuckDB's notation. Raises ValueError for anything else."""
    found = re.fullmatch(r"(\d+(?:\.\d+)?) *([kmgt]i?b|%)", size, flags=re.IGNORECASE | re.ASCII)
    if not found:
        raise ValueError(f"'{size}' is not a size such as 4GB, 512MiB or 50%")
    amount, unit = float(found[1]), found[2].lower()
    one = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 100  # a hundredth of the machine's
    if unit != "%":
        one = (1024 if "i" in unit else 1000) ** ("kmgt".index(unit[0]) + 1)
    return int(min(amount * one, sys.maxsize))


def _memory(what: str, least: int) -> Read:
    """Return a reader of sizes in DuckDB's notation, with a minimum that `what` needs."""

    def read(text: str) -> str:
        most = "100%" if text.endswith("%") else MOST_MEMORY
        is_much = bytes_of(text) > bytes_of(most)
        if is_much or bytes_of(text) < least:
            raise ValueError(
                f"'{text}' is too {'large' if is_much else 'small'}; "
                f"{what} needs at least {least // 10**6}MB and can use at most {most}"
            )
        return text

    return read


def _switch(text: str) -> bool:
    if text.lower() not in SWITCHES:
        raise ValueError(f"'{text}' is not one of {', '.join(SWITCHES)}")
    return SWITCHES[text.lower()]


def _folder(text: str) -> Path:
    if not text.strip():
        raise ValueError("names no folder")
    if re.match(r"\s*[A-Za-z][A-Za-z0-9+.-]+:/", text):  # a drive has one letter
        raise ValueError(f"'{text}' is a URL; only local folders can be used")
    if re.fullmatch(r"""\s*(["']).*\1\s*""", text):  # such as from a file for `docker run --env-file`
        raise ValueError(f"{text.strip()} is in quotation marks; write it without them")
    if text.endswith(("\r", "\n")):
        raise ValueError(f"'{text.rstrip()}' ends in a line end; remove it, or save the file with Unix line ends")
    return Path(text)


def _corpora(text: str) -> tuple[str, ...]:
    if named := _parts(text):
        return named
    raise ValueError("names no corpus")


def _parts(text: str) -> tuple[str, ...]:
    return tuple(part.strip() for part in text.split(",") if part.strip())


def _timezone(text: str) -> str:
    try:
        zoneinfo.ZoneInfo(text)
    except (ValueError, OSError, zoneinfo.ZoneInfoNotFoundError):
        raise ValueError(f"'{text}' is not a time zone such as Europe/Berlin") from None
    return text


THREADS = _count(PER_CORE * (os.cpu_count() or 1), f", {PER_CORE} per core of this machine")
COUNT, SECONDS = _count(MOST), _number("seconds", MOST_SECONDS)
DAYS, HOURS = _number("days", MOST), _number("hours", MOST)
CRON = _text(
    r"@(hourly|daily|weekly|monthly)|[-0-9A-Za-z*,/]+( [-0-9A-Za-z*,/]+){4}", "not a time such as '0 4 * * *' or @daily"
)
"""A time in cron's notation; Dagster rejects impossible numbers when it loads."""
MASTER = _text(
    r"local(\[[\d*]+(,\d+)?\])?|local-cluster\[\d+,\d+,\d+\]|(spark|k8s|thrift)://\S+|yarn",
    "not a master such as local[2]",
)
"""A master in Spark's notation, or a Thrift server."""
WEBHOOK = _url(lambda url: has_host(url, ("http", "https")), "http://HOST or https://HOST")
SMTP = _url(
    # An @ after the host: the password has a / ? or # as it is, and what is before that is not the host.
    lambda url: (
        has_host(url, ("smtp", "smtp+starttls", "smtps")) and "@" not in "".join(urllib.parse.urlsplit(url)[2:])
    ),
    "smtp://HOST or smtp+starttls://HOST or smtps://HOST; / ? # in a password are written as %2F %3F %23",
)
MIRROR = _url(is_mirror, "http://HOST/…, https://HOST/… or file:///FOLDER")
MAIL = _text(
    r"[A-Za-z0-9!#$%&'*+/=?^_`{|}~.-]+@([A-Za-z0-9.-]+|\[[0-9A-Za-z:.]+\])",
    "not an email address such as anna@example.org; only ASCII can be used, and a domain in Punycode",
)
"""An address that every mail server takes; libcurl sends no other."""

HOST = _text(
    r"[A-Za-z0-9.-]+(:\d{1,5})?|\[[0-9A-Fa-f:]+\](:\d{1,5})?", "not a host such as dialogues.example or 10.0.0.5:8080"
)


def _recipients(text: str) -> tuple[str, ...]:
    return tuple(map(MAIL, _parts(text)))


def _hosts(text: str) -> tuple[str, ...]:
    return tuple(map(HOST, _parts(text)))


@dataclass(frozen=True)
class Settings:
    """The settings of a user. Field `x` is read from `DIALOGUE_X` by the reader in its annotation, else as text."""

    source: Annotated[Path | None, _folder] = None
    """Folder with the releases, each file at `<source>/<corpus_id>/<path as published>`."""
    warehouse: Annotated[Path, _folder] = DEFAULT_WAREHOUSE
    """Folder of the warehouse: a new or empty folder, or one that an earlier build made."""
    form: Annotated[str, _choice(FORMS)] = RELEASE_FORM
    """Form of the releases: the publishers' own files, or their copies on the Hugging Face Hub (`huggingface`)."""
    only: Annotated[tuple[str, ...], _corpora] = ()
    """Corpora that a command is about, separated by commas. `DIALOGUE_CORPORA` is another setting, for tests."""
    tables: Annotated[str, _choice(TABLES)] = DUCKDB_TABLES
    """Form of the published tables: one DuckDB file, or Parquet files (`parquet`)."""
    strict: Annotated[bool, _switch] = False
    """Refuse keys and records that the schemas do not know, and do not publish if a check gives a warning."""
    verify: Annotated[bool, _switch] = False
    """Rebuild every file from the core tables and compare it with its source before publishing."""
    force: Annotated[bool, _switch] = False
    """Build even if nothing has changed: land every file again and run every model."""
    replace: Annotated[bool, _switch] = False
    """Publish even if the published warehouse has more corpora, or real files where this build has generated ones."""
    memory_limit: Annotated[str, _memory("a build", 300 * 10**6)] = "3GB"
    """Memory that DuckDB may use in the building process, at least 300 MB.

    The sample is built with 250 MB, and with 150 MB its models run out of memory; it is read with 20 MB.
    """
    threads: Annotated[int, THREADS] = 2
    """Threads of DuckDB in the building process, and processes of the audit."""
    engine: Annotated[str, _choice(ENGINES)] = DUCKDB
    """Engine that lands files and runs the models; `spark` is for data too large for one machine."""
    spark_master: Annotated[str, MASTER] = "local[2]"
    """Master of Spark: `local[N]`, `local-cluster[…]`, `spark://…`, `yarn`, `k8s://…`, or `thrift://…` (a server)."""
    spark_conf: str | None = None
    """More settings of Spark: `name=value` pairs separated by spaces, or a file with one pair per line."""
    processes: Annotated[int, THREADS] = 2
    """Processes that land files in parallel."""
    builds_kept: Annotated[int, COUNT] = 3
    """Number of published builds that stay on disk; builds pinned with `keep` do not count."""
    builds_kept_days: Annotated[float | None, DAYS] = None
    """Days after which a build is removed; the published build and pinned builds stay."""
    keep_going: Annotated[bool, _switch] = False
    """If a corpus is damaged or fails a check, use its files of the published build, and build the others."""
    refresh: Annotated[tuple[str, ...], _corpora] = ()
    """Corpora whose files are read again, separated by commas; the others keep their files of the published build."""
    cron: Annotated[str, CRON] = "0 4 * * *"
    """Time at which the schedule `daily` builds, as a cron expression."""
    fetch_cron: Annotated[str, CRON] = "0 2 * * 0"
    """Time at which the schedule `weekly_fetch` downloads missing files, as a cron expression."""
    timezone: Annotated[str, _timezone] = "UTC"
    """Time zone of both schedules."""
    quiet_seconds: Annotated[float, SECONDS] = 60.0
    """Seconds without a change below the source, after which its files count as complete: the sensor `folder` starts a
    build, and a run of Dagster continues."""
    upstream_days: Annotated[float, DAYS] = 30.0
    """Days without a download or a build of a release, after which Dagster shows it as stale."""
    patience: Annotated[float, SECONDS] = 600.0
    """Seconds that a run of Dagster waits for another build to end, and for files that are still being copied."""
    web_hosts: Annotated[tuple[str, ...], _hosts] = ()
    """Names (`HOST` or `HOST:PORT`) under which a proxy serves the Dagster UI or the dashboard, separated by commas."""
    alert_webhook: Annotated[str | None, WEBHOOK] = field(default=None, repr=False)
    """URL that receives a message, as JSON `{"text": …}`, when builds begin to fail, and when they succeed again."""
    alert_smtp: Annotated[str | None, SMTP] = field(default=None, repr=False)
    """Mail server that sends the same message: `smtp://`, `smtp+starttls://` or `smtps://USER:PASSWORD@HOST:PORT`, with
    / ? # % in the password as percent codes."""
    alert_from: Annotated[str, MAIL] = "dialogue-warehouse@localhost"
    """Sender of the mail."""
    alert_to: Annotated[tuple[str, ...], _recipients] = ()
    """Recipients of the mail, separated by commas; required with `DIALOGUE_ALERT_SMTP`."""
    heartbeat_hours: Annotated[float, HOURS] = 48.0
    """Hours without a finished check of the source after which `status --alert` sends an alert; also in Dagster."""
    audit_timeout: Annotated[float, SECONDS] = 900.0
    """Seconds after which an audit is stopped and the build fails."""
    query_timeout: Annotated[float, SECONDS] = 600.0
    """Seconds after which a query of `sql`, `--where` or the page SQL is stopped; `sql --timeout` sets another one."""
    query_memory_limit: Annotated[str | None, _memory("a query", 50 * 10**6)] = None
    """Memory of a query of `sql`, `--where` or the dashboard, at least 50 MB; one that needs more is refused."""
    log_format: Annotated[str, _choice(LOG_FORMATS)] = TEXT_LOG
    """Format of the progress of `build`, `fetch` and `export` on standard error: `text`, or `json` for events."""
    cache: Annotated[Path | None, _folder] = None
    """Folder of the warehouses that were opened by their URL."""
    jobs: Annotated[int, COUNT] = 4
    """Number of files that `fetch` downloads at the same time."""
    mirror: Annotated[str | None, MIRROR] = field(default=None, repr=False)
    """URL (`https:`, `http:` or `file:`) from which `fetch` takes each file, at `<mirror>/<corpus_id>/<path>`."""
    timeout: Annotated[float, SECONDS] = 30.0
    """Seconds without a byte, or with under 250 bytes a second, after which `fetch` treats a connection as lost."""
    attempts: Annotated[int, COUNT] = 5
    """Number of attempts without progress after which `fetch` gives up on a file."""
    backoff: Annotated[float, SECONDS] = 1.0
    """Seconds before the second attempt at a download; doubled for each next one, at most 120; shortened at random."""

    def pause(self, failures: int) -> float:
        """Return the seconds to wait after so many failed attempts at a download."""
        return min(self.backoff * 2 ** (failures - 1), LONGEST_WAIT) * random.uniform(0.5, 1)  # noqa: S311  no secret

    @classmethod
    def from_environment(cls, **overrides: Any) -> Settings:
        """Settings from `DIALOGUE_…` variables; overrides that are not None win. Raises InputError."""
        values = {name: os.environ.get(variable_of(name)) or None for name in _readers()}
        values |= {name: value for name, value in overrides.items() if value is not None}
        given = {
            name: _read(_readers()[name], value, variable_of(name)) if isinstance(value, str) else value
            for name, value in values.items()
            if value is not None
        }
        for folder in (given[name] for name in ("warehouse", "source") if name in given):
            refuse_root(folder)
            refuse_undecodable(folder)
        settings = replace(cls(), **given)
        if settings.alert_smtp is not None and not settings.alert_to:
            raise SettingsError("DIALOGUE_ALERT_TO: names no recipient, and DIALOGUE_ALERT_SMTP needs one")
        return replace(
            settings,
            warehouse=absolute(settings.warehouse),
            source=settings.source and absolute(settings.source),
        )

    def for_queries(self) -> Settings:
        """Return these settings with the memory limit of queries as DuckDB's limit."""
        return replace(self, memory_limit=self.query_memory_limit or self.memory_limit)

    def for_each(self, processes: int) -> Settings:
        """Return these settings for one of several processes: one thread, and an equal part of the memory.

        A memory limit that is not a number and a unit stays as it is.
        """
        amount = re.fullmatch(r"\s*(\d+(?:\.\d+)?)\s*(\D+)", self.memory_limit)
        part = f"{float(amount[1]) / processes:.3f}{amount[2]}" if amount else self.memory_limit
        return replace(self, memory_limit=part, threads=1)


def read_variable(name: str) -> Any:
    """Read one setting from its variable alone, or return its default. Raises SettingsError."""
    text = os.environ.get(variable_of(name))
    return _read(_readers()[name], text, variable_of(name)) if text else getattr(Settings(), name)


def variable_of(name: str) -> str:
    """Name the environment variable of a setting."""
    return f"{PREFIX}{name.upper()}"


def misspelt_variables() -> list[str]:
    """Return a sentence about each `DIALOGUE_…` variable that is not read, but has almost the name of a setting."""
    import difflib

    known = [variable_of(name).removeprefix(PREFIX) for name in _readers()]
    given = sorted(name.removeprefix(PREFIX) for name in os.environ if name.startswith(PREFIX))
    return [
        f"{PREFIX}{name} is ignored, because it is not a setting; did you mean {PREFIX}{near[0]}?"
        for name in given
        if name not in known and (near := difflib.get_close_matches(name.upper(), known, 1, ALMOST))
    ]


@functools.cache
def _readers() -> dict[str, Read]:
    """Return what reads each setting."""
    kinds = typing.get_type_hints(Settings, include_extras=True)
    return {one.name: getattr(kinds[one.name], "__metadata__", (str,))[0] for one in fields(Settings)}


def silence_telemetry() -> None:
    """Switch off the telemetry of every library, for this process and its children; only a process of ours does so."""
    os.environ.update(TELEMETRY_OFF)
