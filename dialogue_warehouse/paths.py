"""Paths on disk: of the installation, of the user, and of a warehouse. Other modules take them from here."""

from __future__ import annotations

import os
import re
import tempfile
from dataclasses import dataclass
from pathlib import Path

from dialogue_warehouse.errors import InputError

CLONE = Path(__file__).resolve().parent.parent
"""The clone that this package runs from. Installed from a wheel: the folder with the package and dbt's project."""
IS_CLONE = (CLONE / "pyproject.toml").is_file()
DBT_PROJECT = CLONE / "dbt_project"


def in_home(path: str) -> Path:
    """Expand `~` in a path; for a user without a home, as in a container, return a path that does not exist."""
    try:
        return Path(path).expanduser()
    except RuntimeError:
        return Path(os.devnull, path)


DBT_LAST_PARSE = (DBT_PROJECT / "target" / "builds" if IS_CLONE else in_home("~/.cache/dialogue-warehouse")) / (
    "partial_parse.msgpack"
)
"""The last parse of a build, which all warehouses share. dbt's own commands keep theirs one folder above."""
DEFAULT_WAREHOUSE = (CLONE if IS_CLONE else Path.cwd()) / "warehouse"
"""The warehouse of a command without `--warehouse`: that of the clone, else one in the working folder."""


def absolute(path: Path) -> Path:
    """Make a path absolute; `~` is the user's home. Raises InputError if a user has no home."""
    try:
        return path.expanduser().absolute()
    except RuntimeError:
        raise InputError(f"{path}: this user has no home folder; write the full path") from None


def temporary_folder() -> Path:
    """Return the folder for temporary files. Raises InputError if there is none that this user can write."""
    try:
        return Path(tempfile.gettempdir())
    except FileNotFoundError:
        raise InputError("no folder for temporary files can be written, such as /tmp; set TMPDIR to one") from None


def refuse_root(folder: Path) -> None:
    """Raise InputError for the root of the file system, which is never meant as a folder to write into."""
    if os.path.realpath(absolute(folder)) == "/":
        raise InputError(f"{folder}: is the root of the file system; choose a folder below it")


def refuse_undecodable(folder: Path) -> None:
    """Raise InputError for a path that is not UTF-8: DuckDB opens no file there."""
    try:
        str(absolute(folder)).encode()
    except UnicodeEncodeError:
        raise InputError(f"{folder}: the path is not valid UTF-8, so DuckDB opens no file there; rename it") from None


BUILD_ID = re.compile(r"[0-9]{8}T[0-9]{12}Z")
"""The id of a build: the time of its start, in UTC."""
RAW_FILE = re.compile(r"(?P<stem>[^/]+-[0-9a-f]{16}-[0-9a-f]{12}|empty-[0-9a-f]{12})\.(parquet|json)")
"""The name of a landed file: path, content and schema; or the empty file of an entity."""


def shell_history() -> Path:
    """Return the file with the history of the `sql` shell, in the user's folder for state (`XDG_STATE_HOME`)."""
    state = os.environ.get("XDG_STATE_HOME") or "~/.local/state"
    return in_home(state) / "dialogue-warehouse" / "sql_history"


def downloads(cache: Path | None) -> Path:
    """Return the folder of downloaded warehouses, by default in the user's folder for caches (`XDG_CACHE_HOME`)."""
    if cache is not None:
        return absolute(cache)
    return in_home(os.environ.get("XDG_CACHE_HOME") or "~/.cache") / "dialogue-warehouse" / "downloads"


def example_queries() -> list[Path]:
    """List the files with ten example questions in SQL: from the clone, else those installed with the package."""
    import sysconfig  # most commands do not need it

    installed = Path(sysconfig.get_path("data")) / "share" / "dialogue-warehouse"
    return sorted(((CLONE / "warehouse" if IS_CLONE else installed) / "queries").glob("*.sql"))


def tables_beside(database: Path) -> Path:
    """Return the folder of Parquet files that a database describes, if its rows are not in the database itself."""
    return database.with_suffix(".tables")


@dataclass(frozen=True)
class WarehousePaths:
    """The layout of a warehouse folder.

    A reader may open `published` and the build that `pointer` names. Everything in `scratch` belongs to the build that
    runs, or to the last one that failed.
    """

    root: Path

    @property
    def mark(self) -> Path:
        """JSON `{"format": ...}` that marks the folder as a warehouse. It is the first file that is written."""
        return self.root / ".dialogue-warehouse"

    @property
    def places(self) -> tuple[Path, ...]:
        """Every file and folder at the top of a warehouse that this project writes."""
        return (
            *(self.mark, self.lock, self.pointer, self.started_publication, self.published, self.alerts, self.trouble),
            *(self.checked, self.silence, self.download_trouble),
            *(self.builds, self.raw, self.sample, self.reports, self.landing),
            *(self.scratch, self.scratch_spark, self.dagster_home, self.dbt_sources),
        )

    @property
    def published(self) -> Path:
        """The published database: a separate read-only file of the build that `pointer` names."""
        return self.root / "dialogues.duckdb"

    @property
    def pointer(self) -> Path:
        """JSON `{"build_id": ...}`: the published build."""
        return self.root / "published.json"

    @property
    def started_publication(self) -> Path:
        """JSON `{"build_id": ...}` while a build is being published. It remains if publishing was interrupted."""
        return self.root / ".publishing.json"

    @property
    def builds(self) -> Path:
        """The kept builds, `<build_id>.duckdb` and `<build_id>.json`. Some have their rows in `<build_id>.tables`."""
        return self.root / "builds"

    def build_database(self, build_id: str) -> Path:
        """The database of one build."""
        return self.builds / f"{build_id}.duckdb"

    def build_tables(self, build_id: str) -> Path:
        """The Parquet files of one build's tables, `<schema>/<table>/…`, if they are not in its database."""
        return tables_beside(self.build_database(build_id))

    def build_manifest(self, build_id: str) -> Path:
        """JSON beside a build: its source, its summary, and the raw Parquet files of each raw table."""
        return self.builds / f"{build_id}.json"

    def build_report(self, build_id: str) -> Path:
        """The report about one build as it was written, so that a rollback can show it again."""
        return self.builds / f"{build_id}.report"

    def build_search(self, build_id: str) -> Path:
        """The search index of one build, an SQLite file. A build of an earlier version has none."""
        return self.builds / f"{build_id}.search.sqlite"

    def build_restorations(self, build_id: str) -> Path:
        """JSON beside a build: the result of the last `verify` of it, by file."""
        return self.builds / f"{build_id}.restorations.json"

    @property
    def reports(self) -> Path:
        """The static site about the published build; `index.html` is the first page."""
        return self.root / "reports"

    @property
    def raw(self) -> Path:
        """The landed Parquet files, `<corpus_id>/<entity>/<file>-<content>-<schema>.parquet`."""
        return self.root / "raw"

    @property
    def landing(self) -> Path:
        """The publishers' files as `fetch` downloads them, `<corpus_id>/<path>`. A build can read this folder."""
        return self.root / "landing"

    @property
    def sample(self) -> Path:
        """The generated releases of the embedded sample."""
        return self.root / "sample"

    @property
    def dagster_home(self) -> Path:
        """Dagster's persistent instance."""
        return self.root / ".dagster"

    @property
    def dagster_yaml(self) -> Path:
        """The configuration of that instance. It is written once; then it belongs to the operator."""
        return self.dagster_home / "dagster.yaml"

    @property
    def watched(self) -> Path:
        """An empty file; its time is that of the last evaluation of the sensor that watches the runs."""
        return self.dagster_home / "watched"

    @property
    def alerts(self) -> Path:
        """All messages about a build that failed or recovered: one JSON object per line."""
        return self.root / "alerts.jsonl"

    @property
    def trouble(self) -> Path:
        """JSON: the last failure and the alert about it, until a build succeeds."""
        return self.root / ".trouble.json"

    @property
    def download_trouble(self) -> Path:
        """JSON: the last download that failed and the alert about it, until a download succeeds."""
        return self.root / ".download_trouble.json"

    @property
    def silence(self) -> Path:
        """JSON: the alert that no check of the source finishes any more, until one has finished."""
        return self.root / ".silence.json"

    @property
    def checked(self) -> Path:
        """JSON `{"at": ...}`: the time of the last finished check of the source."""
        return self.root / ".checked.json"

    @property
    def lock(self) -> Path:
        """The lock file that a running build holds."""
        return self.root / ".lock"

    @property
    def scratch(self) -> Path:
        """The folder in which a build works. The path is constant, because dbt's partial parse depends on it."""
        return self.root / ".scratch"

    @property
    def scratch_database(self) -> Path:
        """The database that dbt writes. It is renamed to a build when the checks have passed."""
        return self.scratch / "dialogues.duckdb"

    def scratch_tables(self, build_id: str) -> Path:
        """The Parquet files of a build's tables before they are published."""
        return tables_beside(self.scratch_catalog(build_id))

    def scratch_catalog(self, build_id: str) -> Path:
        """The database that describes those files, before it is published."""
        return self.scratch / f"{build_id}.duckdb"

    @property
    def scratch_staging(self) -> Path:
        """The database of the staging layer; it is deleted."""
        return self.scratch / "staging.duckdb"

    @property
    def scratch_spark(self) -> Path:
        """The working folder of Spark: temporary tables, spilled data and logs."""
        return self.root / ".spark"

    @property
    def spark_tables(self) -> Path:
        """The tables that Spark writes, `<schema>/<table>/[corpus_id=<id>/]*.parquet`."""
        return self.scratch / "spark_tables"

    @property
    def scratch_raw(self) -> Path:
        """Links to the raw Parquet files of this build, `<table>/<n>.parquet`; dbt's sources read them."""
        return self.scratch / "raw"

    @property
    def scratch_audit(self) -> Path:
        """Parquet files that the audit writes, `<table>/<n>.parquet`; dbt's audit sources read them."""
        return self.scratch / "audit"

    @property
    def scratch_state(self) -> Path:
        """JSON that the steps of a running build pass to each other."""
        return self.scratch / "build.json"

    @property
    def dbt_sources(self) -> Path:
        """The folder of dbt's own commands: the files that the sources of the last publication read, and a database."""
        return self.root / ".dbt"

    @property
    def dbt_manifest(self) -> Path:
        """The parsed dbt project, in dbt's own format."""
        return self.dbt_target / "manifest.json"

    @property
    def dbt_docs(self) -> Path:
        """The page of dbt's own documentation of the build that was made last; others are in the kept reports."""
        return self.dbt_target / "dbt.html"

    @property
    def dbt_target(self) -> Path:
        """The target folder of dbt, with its manifest and partial parse."""
        return self.scratch / "dbt_target"
