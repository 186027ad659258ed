"""The settings object, read from the environment, and the switches that turn telemetry off.

Every setting is a variable `DIALOGUE_<NAME>`; README.md and docs/run_it_unattended.md list them. A setting is declared
once, with its default and the function that reads it. An invalid value is an error of one line. The paths below the
warehouse folder are in `dialogue_warehouse.paths`.
"""

from __future__ import annotations

import functools
import os
import re
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
from dialogue_warehouse.paths import DEFAULT_WAREHOUSE, absolute

TELEMETRY_OFF = {
    "DO_NOT_TRACK": "1",
    "DAGSTER_DISABLE_TELEMETRY": "1",
    "DBT_SEND_ANONYMOUS_USAGE_STATS": "false",
    "GX_ANALYTICS_ENABLED": "false",
}

RELEASE_FORM = "release"
"""The form of the publishers' original files."""
FORMS = (RELEASE_FORM, "huggingface")
"""The supported forms of a release."""
FORMATS = ("table", "vertical", "json", "jsonl", "csv", "markdown", "parquet")
"""Output formats of rows. The default is a table if the rows fit, else vertical."""
DUCKDB, SPARK = ENGINES = ("duckdb", "spark")
"""The engines that can run the models."""
DUCKDB_TABLES, PARQUET_TABLES = TABLES = ("duckdb", "parquet")
"""The forms of the published tables: all in one DuckDB file, or each in Parquet files."""
SWITCHES = dict.fromkeys(("1", "true", "yes", "on"), True) | dict.fromkeys(("0", "false", "no", "off"), False)
"""The accepted values of a switch, in upper or lower case."""
PER_CORE = 4
"""Maximum number of threads and processes per core. More would only slow each other down."""
MOST = 1_000
"""The highest value of any other count."""
MOST_SECONDS = 7 * 24 * 3600


class SettingsError(InputError):
    """A setting has an invalid value."""


Read = Callable[[str], Any]
"""Reads the text of a setting, without surrounding blanks. Raises ValueError that describes the problem."""


def _read(read: Read, text: str, asked_by: str) -> Any:
    """Read the text of an option or variable. Raises SettingsError."""
    try:
        return read(text if read is _folder else text.strip())  # the name of a folder may end in a blank
    except ValueError as error:
        raise SettingsError(f"{asked_by}: {error}") from None


def corpora_named(texts: Iterable[str], asked_by: str) -> tuple[str, ...]:
    """List the corpora that an option or variable names, separated by commas. Raises SettingsError if there is none.

    Only `dialogue_warehouse.corpora.registry` knows if such a corpus exists.
    """
    return _read(_corpora, ",".join(texts), asked_by)


def folder_named(text: str, asked_by: str) -> Path:
    """Read the path of a local folder; `asked_by` is the name of the option or variable. Raises SettingsError."""
    return _read(_folder, text, asked_by)


def has_host(url: str, schemes: tuple[str, ...]) -> bool:
    """Tell if this is a URL of one of these schemes that names a host."""
    try:
        parts = urllib.parse.urlsplit(url)
        return parts.scheme in schemes and bool(parts.hostname) and parts.port != 0
    except ValueError:
        return False


def is_mirror(url: str) -> bool:
    """Tell if files below this URL can be downloaded."""
    if has_host(url, ("http", "https")):
        return True
    try:
        parts = urllib.parse.urlsplit(url)
    except ValueError:
        return False
    return parts.scheme == "file" and parts.hostname in (None, "localhost")


def _limited(kind: Any, otherwise: str) -> Read:
    """Return a reader for a type with limits. For any other text its error says that it is `otherwise`."""

    def read(text: str) -> Any:
        try:
            return msgspec.convert(text, kind, strict=False)
        except msgspec.ValidationError:
            raise ValueError(f"'{text}' is {otherwise}") from None

    return read


def _count(most: int, of: str = "") -> Read:
    return _limited(Annotated[int, Meta(ge=1, le=most)], f"no number from 1 to {most}{of}")


def _number(unit: str, most: int) -> Read:
    return _limited(Annotated[float, Meta(gt=0, le=most)], f"no positive number of {unit}, up to {most}")


def _text(pattern: str, otherwise: str) -> Read:
    return _limited(Annotated[str, Meta(pattern=rf"\A(?:{pattern})\Z")], otherwise)


def _choice(choices: tuple[str, ...]) -> Read:
    return _text("|".join(choices), f"none of {', '.join(choices)}")


def _url(is_url: Callable[[str], bool], forms: str) -> Read:
    """Return a reader of a URL. Its error does not repeat the URL, which may contain a password."""

    def read(text: str) -> str:
        if not is_url(text):
            raise ValueError(f"no URL of {forms}")
        return text

    return read


def _memory(what: str, least: int) -> Read:
    """Return a reader of a size in DuckDB's notation that checks the minimum of `least` bytes."""

    def read(text: str) -> str:
        size = re.fullmatch(r"(\d+(?:\.\d+)?) *([kmgt]i?b|%)", text, flags=re.IGNORECASE | re.ASCII)
        if not size:
            raise ValueError(f"'{text}' is no size such as 4GB, 512MiB or 50%")
        amount, unit = float(size[1]), size[2].lower()
        one = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 100  # one percent of the machine's memory
        if unit != "%":
            one = (1024 if "i" in unit else 1000) ** ("kmgt".index(unit[0]) + 1)
        is_much = unit == "%" and amount > 100
        if is_much or amount * one < least:
            raise ValueError(
                f"'{text}' is too {'much' if is_much else 'little'}; "
                f"the least that {what} works with is {least // 10**6}MB, the most 100%"
            )
        return text

    return read


def _switch(text: str) -> bool:
    if text.lower() not in SWITCHES:
        raise ValueError(f"'{text}' is none of {', '.join(SWITCHES)}")
    return SWITCHES[text.lower()]


def _folder(text: str) -> Path:
    if not text.strip():
        raise ValueError("names no folder")
    if re.match(r"\s*[A-Za-z][A-Za-z0-9+.-]+:/", text):  # a drive has one letter
        raise ValueError(f"'{text}' is an address; only folders of this machine can be used so far")
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
        raise ValueError(f"'{text}' is no time zone such as Europe/Berlin") from None
    return text


THREADS = _count(PER_CORE * (os.cpu_count() or 1), f", {PER_CORE} a core of this machine")
COUNT, SECONDS = _count(MOST), _number("seconds", MOST_SECONDS)
DAYS, HOURS = _number("days", MOST), _number("hours", MOST)
CRON = _text(
    r"@(hourly|daily|weekly|monthly)|[-0-9A-Za-z*,/]+( [-0-9A-Za-z*,/]+){4}", "no time such as '0 4 * * *' or @daily"
)
"""A time in cron's notation. Dagster reports impossible numbers when it loads."""
MASTER = _text(
    r"local(\[[\d*]+(,\d+)?\])?|local-cluster\[\d+,\d+,\d+\]|(spark|k8s|thrift)://\S+|yarn",
    "no master such as local[2]",
)
"""A master in Spark's notation, or a Thrift server."""
WEBHOOK = _url(lambda url: has_host(url, ("http", "https")), "http://HOST or https://HOST")
SMTP = _url(
    lambda url: has_host(url, ("smtp", "smtp+starttls", "smtps")),
    "smtp://HOST or smtp+starttls://HOST or smtps://HOST",
)
MIRROR = _url(is_mirror, "http://HOST/…, https://HOST/… or file:///FOLDER")
MAIL = _text(r"[^@\s<>,\x00-\x1f]+@[^@\s<>,\x00-\x1f]+", "no address of mail")


def _recipients(text: str) -> tuple[str, ...]:
    return tuple(map(MAIL, _parts(text)))


@dataclass(frozen=True)
class Settings:
    """What a user may set. Field `x` is read from `DIALOGUE_X`, as its annotation says; without one it is text."""

    source: Annotated[Path | None, _folder] = None
    """Folder with the releases, `<source>/<corpus_id>/<path>`; None stands for the embedded sample."""
    warehouse: Annotated[Path, _folder] = DEFAULT_WAREHOUSE
    """Folder of the warehouse."""
    form: Annotated[str, _choice(FORMS)] = RELEASE_FORM
    """Form of the releases: the publisher's own files, or a republication of them."""
    only: Annotated[tuple[str, ...], _corpora] = ()
    """Corpora to build; empty stands for all."""
    tables: Annotated[str, _choice(TABLES)] = DUCKDB_TABLES
    """Form of the published tables."""
    strict: Annotated[bool, _switch] = False
    """Refuse what the schemas do not know, and block on warnings too."""
    verify: Annotated[bool, _switch] = False
    """Rebuild every file from core and compare it with its source before publishing."""
    force: Annotated[bool, _switch] = False
    """Build although nothing changed, land every file again and run every model."""
    replace: Annotated[bool, _switch] = False
    """Publish also what has fewer corpora than what is published, or generated files for its real ones."""
    memory_limit: Annotated[str, _memory("a build", 300 * 10**6)] = "3GB"
    """Memory that DuckDB may use in the building process, as DuckDB writes it.

    The sample is built with 250 MB, and with 150 MB its models run out of memory; it is read with 20 MB."""
    threads: Annotated[int, THREADS] = 2
    """Threads of DuckDB in the building process."""
    engine: Annotated[str, _choice(ENGINES)] = DUCKDB
    """What lands files and runs the models: DuckDB in this process, or Spark."""
    spark_master: Annotated[str, MASTER] = "local[2]"
    """Where Spark runs: `local[N]`, `local-cluster[…]`, `spark://…`, `yarn`, `k8s://…`; `thrift://…` is a server."""
    spark_conf: str | None = None
    """Further settings of Spark: `name=value` with spaces between them, or a file with one a line."""
    processes: Annotated[int, THREADS] = 2
    """Processes that land files side by side."""
    builds_kept: Annotated[int, COUNT] = 3
    """Published builds that stay on disk."""
    builds_kept_days: Annotated[float | None, DAYS] = None
    """Days after which a build does not stay, however few there are; None stands for no limit."""
    keep_going: Annotated[bool, _switch] = False
    """Leave a corpus whose source is damaged, or fails a check, as it is published, and build the others."""
    refresh: Annotated[tuple[str, ...], _corpora] = ()
    """Corpora to land; the others stay as they are published. Empty stands for all."""
    cron: Annotated[str, CRON] = "0 4 * * *"
    """When the daily schedule builds."""
    fetch_cron: Annotated[str, CRON] = "0 2 * * 0"
    """When the weekly schedule downloads what is missing."""
    timezone: Annotated[str, _timezone] = "UTC"
    """Time zone of the schedules."""
    quiet_seconds: Annotated[float, SECONDS] = 60.0
    """Seconds in which nothing below the source changes, before the folder sensor takes it for complete."""
    upstream_days: Annotated[float, DAYS] = 30.0
    """Days after which a release that nobody has looked at is shown as stale."""
    published_hours: Annotated[float, HOURS] = 48.0
    """Hours after which a warehouse that nobody has published anew is shown as stale."""
    patience: Annotated[float, SECONDS] = 600.0
    """Seconds that a run of Dagster waits for another build to end."""
    alert_webhook: Annotated[str | None, WEBHOOK] = field(default=None, repr=False)
    """URL that is told of a build that fails and of one that is well again, as JSON `{"text": ...}`."""
    alert_smtp: Annotated[str | None, SMTP] = field(default=None, repr=False)
    """Mail server that is told: `smtp://`, `smtp+starttls://` or `smtps://[USER:PASSWORD@]HOST[:PORT]`."""
    alert_from: Annotated[str, MAIL] = "dialogue-warehouse@localhost"
    """Whom such a mail is from."""
    alert_to: Annotated[tuple[str, ...], _recipients] = ()
    """Whom it is to."""
    audit_timeout: Annotated[float, SECONDS] = 900.0
    """Seconds after which an audit is given up."""
    query_timeout: Annotated[float, SECONDS] = 600.0
    """Seconds after which a query given to `sql` is given up."""
    query_memory_limit: Annotated[str | None, _memory("a query", 50 * 10**6)] = None
    """Memory that a query given to `sql` may use, as DuckDB writes it; None stands for as much as a build may."""
    jobs: Annotated[int, COUNT] = 4
    """Files that are downloaded at a time."""
    mirror: Annotated[str | None, MIRROR] = field(default=None, repr=False)
    """URL (http, https or file) to download from instead of upstream: each file is at `<mirror>/<corpus_id>/<path>`."""
    timeout: Annotated[float, SECONDS] = 30.0
    """Seconds without a byte, or with fewer than 250 a second, after which a download counts as cut."""
    attempts: Annotated[int, COUNT] = 5
    """Times that a file is asked for without progress before the download gives up."""
    backoff: Annotated[float, SECONDS] = 1.0
    """Seconds before a download is tried again; twice as long each further time, less a random part."""

    @classmethod
    def from_environment(cls, **overrides: Any) -> Settings:
        """Settings from `DIALOGUE_…` variables; overrides that are not None win. Raises SettingsError."""
        values = {name: os.environ.get(variable_of(name)) or None for name in _readers()}
        values |= {name: value for name, value in overrides.items() if value is not None}
        given = {
            name: _read(_readers()[name], value, variable_of(name)) if isinstance(value, str) else value
            for name, value in values.items()
            if value is not None
        }
        settings = replace(cls(), **given)
        if settings.alert_smtp is not None and not settings.alert_to:
            raise SettingsError("DIALOGUE_ALERT_TO: names nobody that DIALOGUE_ALERT_SMTP could send mail to")
        return replace(
            settings,
            warehouse=absolute(settings.warehouse),
            source=settings.source and absolute(settings.source),
        )

    def for_queries(self) -> Settings:
        """These settings, where DuckDB may use what a query given to `sql` may."""
        return replace(self, memory_limit=self.query_memory_limit or self.memory_limit)

    def memory_limit_of_each(self, processes: int) -> str:
        """An equal part of the memory limit, as DuckDB writes it; the limit itself where it is no number and unit."""
        amount = re.fullmatch(r"\s*(\d+(?:\.\d+)?)\s*(\D+)", self.memory_limit)
        return f"{float(amount[1]) / processes:.3f}{amount[2]}" if amount else self.memory_limit


def variable_of(name: str) -> str:
    """Return the name of the environment variable of a setting."""
    return f"DIALOGUE_{name.upper()}"


@functools.cache
def _readers() -> dict[str, Read]:
    """Return the reader of each setting."""
    kinds = typing.get_type_hints(Settings, include_extras=True)
    return {one.name: getattr(kinds[one.name], "__metadata__", (str,))[0] for one in fields(Settings)}


def silence_telemetry() -> None:
    """Turn off the telemetry of every library for this process and its children. Only our own processes call this."""
    os.environ.update(TELEMETRY_OFF)
