"""The one settings object, read from the environment, and the switches that turn telemetry off.

Every setting is a variable `DIALOGUE_<NAME>`; docs/settings.md lists them. A value that cannot be used is refused in
one line. Where things lie below the warehouse folder is in `dialogue_warehouse.paths`.
"""

from __future__ import annotations

import math
import os
import re
import urllib.parse
import zoneinfo
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from typing import Any

from dialogue_warehouse.errors import InputError
from dialogue_warehouse.paths import DEFAULT_WAREHOUSE, absolute

ON, OFF = ("1", "true", "yes", "on"), ("0", "false", "no", "off")
"""What a switch may be set to, in any case."""
PER_CORE = 4
"""Threads and processes that a core may have; more only stand in each other's way."""
MOST_OF = dict.fromkeys(("threads", "processes"), PER_CORE * (os.cpu_count() or 1))
MOST = 1_000
"""The most of anything else that is counted."""
MOST_SECONDS = 7 * 24 * 3600
LEAST_MEMORY = {"memory_limit": ("a build", 300 * 10**6), "query_memory_limit": ("a query", 50 * 10**6)}
"""Bytes: the sample is built with 250 MB, and with 150 MB its models run out of memory; it is read with 20 MB."""


ADDRESS = re.compile(r"\s*[A-Za-z][A-Za-z0-9+.-]+:/")
"""How the address of an object store or a server begins; a drive has one letter."""


class SettingsError(InputError):
    """A setting has a value that cannot be used."""


def corpora_named(texts: Iterable[str], name: str) -> tuple[str, ...]:
    """The corpora that a setting or an option of this name lists, separated by commas. Raises SettingsError for none.

    Whether there is such a corpus is known to `dialogue_warehouse.corpora.registry` alone.
    """
    named = tuple(part.strip() for text in texts for part in text.split(",") if part.strip())
    if not named:
        raise SettingsError(f"{name}: names no corpus")
    return named


def parse(name: str, text: str) -> Any:
    """The value that the text of a setting stands for. Raises SettingsError."""
    return next((read(name, text) for names, read in _FORMS if name in names), text)


def _switch(name: str, text: str) -> bool:
    if text.strip().lower() not in (*ON, *OFF):
        raise SettingsError(f"DIALOGUE_{name.upper()}: '{text}' is none of {', '.join((*ON, *OFF))}")
    return text.strip().lower() in ON


def _count(name: str, text: str) -> int:
    most = MOST_OF.get(name, MOST)
    digits = text.strip()
    if not (digits.isascii() and digits.isdigit()) or not 1 <= int(digits[:9]) <= most:
        of = f", {PER_CORE} a core of this machine" if name in MOST_OF else ""
        raise SettingsError(f"DIALOGUE_{name.upper()}: '{text}' is no number from 1 to {most}{of}")
    return int(digits)


def _number(name: str, text: str, of: str, most: int) -> float:
    try:
        number = float(text)
    except ValueError:
        number = math.nan
    if not 0 < number <= most:
        raise SettingsError(f"DIALOGUE_{name.upper()}: '{text}' is no positive number of {of}, up to {most}")
    return number


def _seconds(name: str, text: str) -> float:
    return _number(name, text, "seconds", MOST_SECONDS)


def _period(name: str, text: str) -> float:
    return _number(name, text, name.rpartition("_")[2], MOST)


def _cron(name: str, text: str) -> str:
    """A time as cron has it; whether the numbers can be is known to Dagster, which says it when it loads."""
    if not re.fullmatch(r"@(hourly|daily|weekly|monthly)|[-0-9A-Za-z*,/]+( [-0-9A-Za-z*,/]+){4}", text.strip()):
        raise SettingsError(f"DIALOGUE_{name.upper()}: '{text}' is no time such as '0 4 * * *' or @daily")
    return text.strip()


def _timezone(name: str, text: str) -> str:
    try:
        zoneinfo.ZoneInfo(text.strip())
    except (ValueError, OSError, zoneinfo.ZoneInfoNotFoundError):
        raise SettingsError(f"DIALOGUE_{name.upper()}: '{text}' is no time zone such as Europe/Berlin") from None
    return text.strip()


def _memory(name: str, text: str) -> str:
    """A size as DuckDB writes it, and enough of it for what it is for."""
    what, enough = LEAST_MEMORY[name]
    size = re.fullmatch(r"(\d+(?:\.\d+)?) *([kmgt]i?b|%)", text.strip(), flags=re.IGNORECASE | re.ASCII)
    if not size:
        raise SettingsError(f"DIALOGUE_{name.upper()}: '{text}' is no size such as 4GB, 512MiB or 50%")
    unit = size[2].lower()
    if unit == "%":
        least, most = 0.0, 100.0
        count = float(size[1]) / 100 * os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    else:
        least, most = 0.0, math.inf
        count = float(size[1]) * (1024 if "i" in unit else 1000) ** ("kmgt".index(unit[0]) + 1)
    if not least < float(size[1]) <= most or count < enough:
        raise SettingsError(
            f"DIALOGUE_{name.upper()}: '{text}' is too {'much' if float(size[1]) > most else 'little'}; "
            f"the least that {what} works with is {enough // 10**6}MB, the most 100%"
        )
    return text.strip()


def is_mirror(url: str) -> bool:
    """Whether files can be downloaded from below this URL."""
    try:
        parts = urllib.parse.urlsplit(url)
        host, _ = parts.hostname, parts.port
    except ValueError:
        return False
    return bool(host) if parts.scheme in ("http", "https") else parts.scheme == "file" and host in (None, "localhost")


def folder_named(text: str, asked_by: str) -> Path:
    """Read the path of a local folder; `asked_by` is the option or variable that has it. Raises SettingsError."""
    if not text.strip():
        raise SettingsError(f"{asked_by}: names no folder")
    if ADDRESS.match(text):
        raise SettingsError(f"{asked_by}: '{text}' is an address; only folders of this machine can be used so far")
    return Path(text)


def has_host(url: str, schemes: tuple[str, ...]) -> bool:
    """Whether this is a URL of one of these schemes that names a host."""
    try:
        parts = urllib.parse.urlsplit(url)
        return parts.scheme in schemes and bool(parts.hostname) and parts.port != 0
    except ValueError:
        return False


_FORMS: tuple[tuple[set[str], Callable[[str, str], Any]], ...] = (
    ({"source", "warehouse"}, lambda name, text: folder_named(text, f"DIALOGUE_{name.upper()}")),
    ({"only", "refresh"}, lambda name, text: corpora_named([text], f"DIALOGUE_{name.upper()}")),
    ({"alert_to"}, lambda _, text: tuple(part.strip() for part in text.split(",") if part.strip())),
    ({"cron", "fetch_cron"}, _cron),
    ({"timezone"}, _timezone),
    ({"strict", "verify", "force", "replace", "keep_going"}, _switch),
    ({"threads", "processes", "builds_kept", "jobs", "attempts"}, _count),
    ({"timeout", "backoff", "audit_timeout", "query_timeout", "quiet_seconds", "patience"}, _seconds),
    (
        {"upstream_days", "published_hours", "builds_kept_days"},
        _period,
    ),
    ({"memory_limit", "query_memory_limit"}, _memory),
)
"""How the text of each setting is read; what is in none of these is text."""


TELEMETRY_OFF = {
    "DO_NOT_TRACK": "1",
    "DAGSTER_DISABLE_TELEMETRY": "1",
    "DBT_SEND_ANONYMOUS_USAGE_STATS": "false",
    "GX_ANALYTICS_ENABLED": "false",
}

RELEASE_FORM = "release"
"""The form of the publishers' own files."""
FORMS = (RELEASE_FORM, "huggingface")
"""The forms that a release may be given in."""
FORMATS = ("table", "vertical", "json", "jsonl", "csv", "markdown", "parquet")
"""The formats that rows are printed in; without one, a table where the rows fit and else vertical."""
DUCKDB, SPARK = ENGINES = ("duckdb", "spark")
"""What models may be run with."""
MASTER = r"local(\[[\d*]+(,\d+)?\])?|local-cluster\[\d+,\d+,\d+\]|(spark|k8s|thrift)://\S+|yarn"
"""How Spark's masters are written, and a Thrift server."""
DUCKDB_TABLES, PARQUET_TABLES = "duckdb", "parquet"
TABLES = (DUCKDB_TABLES, PARQUET_TABLES)
"""The forms that the published tables may have: all in one file of DuckDB, or each in files of Parquet."""


@dataclass(frozen=True)
class Settings:
    """What a user may set. Field `x` is read from the environment variable `DIALOGUE_X`."""

    source: Path | None = None
    """Folder with the releases, `<source>/<corpus_id>/<path>`; None stands for the embedded sample."""
    warehouse: Path = DEFAULT_WAREHOUSE
    """Folder of the warehouse."""
    form: str = RELEASE_FORM
    """Form of the releases: the publisher's own files, or a republication of them."""
    only: tuple[str, ...] = ()
    """Corpora to build; empty stands for all."""
    tables: str = DUCKDB_TABLES
    """Form of the published tables."""
    strict: bool = False
    """Refuse what the schemas do not know, and block on warnings too."""
    verify: bool = False
    """Rebuild every file from core and compare it with its source before publishing."""
    force: bool = False
    """Build although nothing changed, land every file again and run every model."""
    replace: bool = False
    """Publish also what has fewer corpora than what is published, or generated files for its real ones."""
    memory_limit: str = "3GB"
    """Memory that DuckDB may use in the building process, as DuckDB writes it."""
    threads: int = 2
    """Threads of DuckDB in the building process."""
    engine: str = DUCKDB
    """What lands files and runs the models: DuckDB in this process, or Spark."""
    spark_master: str = "local[2]"
    """Where Spark runs: `local[N]`, `local-cluster[…]`, `spark://…`, `yarn`, `k8s://…`; `thrift://…` is a server."""
    spark_conf: str | None = None
    """Further settings of Spark: `name=value` with spaces between them, or a file with one a line."""
    processes: int = 2
    """Processes that land files side by side."""
    builds_kept: int = 3
    """Published builds that stay on disk."""
    builds_kept_days: float | None = None
    """Days after which a build does not stay, however few there are; None stands for no limit."""
    keep_going: bool = False
    """Leave a corpus whose source is damaged, or fails a check, as it is published, and build the others."""
    refresh: tuple[str, ...] = ()
    """Corpora to land; the others stay as they are published. Empty stands for all."""
    cron: str = "0 4 * * *"
    """When the daily schedule builds."""
    fetch_cron: str = "0 2 * * 0"
    """When the weekly schedule downloads what is missing."""
    timezone: str = "UTC"
    """Time zone of the schedules."""
    quiet_seconds: float = 60.0
    """Seconds in which nothing below the source changes, before the folder sensor takes it for complete."""
    upstream_days: float = 30.0
    """Days after which a release that nobody has looked at is shown as stale."""
    published_hours: float = 48.0
    """Hours after which a warehouse that nobody has published anew is shown as stale."""
    patience: float = 600.0
    """Seconds that a run of Dagster waits for another build to end."""
    alert_webhook: str | None = field(default=None, repr=False)
    """URL that is told of a build that fails and of one that is well again, as JSON `{"text": ...}`."""
    alert_smtp: str | None = field(default=None, repr=False)
    """Mail server that is told: `smtp://`, `smtp+starttls://` or `smtps://[USER:PASSWORD@]HOST[:PORT]`."""
    alert_from: str = "dialogue-warehouse@localhost"
    """Whom such a mail is from."""
    alert_to: tuple[str, ...] = ()
    """Whom it is to."""
    audit_timeout: float = 900.0
    """Seconds after which an audit is given up."""
    query_timeout: float = 600.0
    """Seconds after which a query given to `sql` is given up."""
    query_memory_limit: str | None = None
    """Memory that a query given to `sql` may use, as DuckDB writes it; None stands for as much as a build may."""
    jobs: int = 4
    """Files that are downloaded at a time."""
    mirror: str | None = field(default=None, repr=False)
    """URL (http, https or file) to download from instead of upstream: each file is at `<mirror>/<corpus_id>/<path>`."""
    timeout: float = 30.0
    """Seconds without a byte, or with fewer than 250 a second, after which a download counts as cut."""
    attempts: int = 5
    """Times that a file is asked for without progress before the download gives up."""
    backoff: float = 1.0
    """Seconds before a download is tried again; twice as long each further time, less a random part."""

    @classmethod
    def from_environment(cls, **overrides: Any) -> Settings:
        """Settings from `DIALOGUE_…` variables; overrides that are not None win. Raises SettingsError."""
        values: dict[str, Any] = {}
        for setting in fields(cls):
            text = os.environ.get(f"DIALOGUE_{setting.name.upper()}")
            if text:
                values[setting.name] = parse(setting.name, text)
        settings = replace(cls(), **values)
        settings = replace(settings, **{name: value for name, value in overrides.items() if value is not None})
        if not re.fullmatch(MASTER, settings.spark_master):
            raise SettingsError(f"DIALOGUE_SPARK_MASTER: '{settings.spark_master}' is no master such as local[2]")
        for name, forms in (("form", FORMS), ("tables", TABLES), ("engine", ENGINES)):
            if (form := getattr(settings, name)) not in forms:
                raise SettingsError(f"DIALOGUE_{name.upper()}: '{form}' is none of {', '.join(forms)}")
        _check_alerts(settings)
        if settings.mirror is not None and not is_mirror(settings.mirror):
            raise SettingsError("DIALOGUE_MIRROR is no URL of http://HOST/…, https://HOST/… or file:///FOLDER")
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


def _check_alerts(settings: Settings) -> None:
    """Raise SettingsError for a place to tell that there cannot be; its name is not told."""
    for name, schemes in (("alert_webhook", ("http", "https")), ("alert_smtp", ("smtp", "smtp+starttls", "smtps"))):
        url = getattr(settings, name)
        if url is not None and not has_host(url, schemes):
            forms = " or ".join(f"{scheme}://HOST" for scheme in schemes)
            raise SettingsError(f"DIALOGUE_{name.upper()} is no URL of {forms}")
    for name in ("alert_from", "alert_to"):
        for address in (settings.alert_from,) if name == "alert_from" else settings.alert_to:
            if not re.fullmatch(r"[^@\s<>,\x00-\x1f]+@[^@\s<>,\x00-\x1f]+", address):
                raise SettingsError(f"DIALOGUE_{name.upper()}: '{address}' is no address of mail")
    if settings.alert_smtp is not None and not settings.alert_to:
        raise SettingsError("DIALOGUE_ALERT_TO: names nobody that DIALOGUE_ALERT_SMTP could send mail to")


def silence_telemetry() -> None:
    """Switch off the telemetry of every library, for this process and its children; only a process of ours does so."""
    os.environ.update(TELEMETRY_OFF)
