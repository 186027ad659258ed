"""The one settings object: what a user may set from the environment, and the switches that keep libraries silent.

Every setting is an environment variable `DIALOGUE_<NAME>`; the README lists them. How their texts are read is
`pipelines.setting_forms`; where things lie below the warehouse folder is the business of `pipelines.paths`.
"""

from __future__ import annotations

import os
import re
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from typing import Any

from pipelines.paths import DEFAULT_WAREHOUSE, absolute
from pipelines.setting_forms import SettingsError, has_host, is_mirror, parse

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
