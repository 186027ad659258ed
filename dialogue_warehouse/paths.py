"""Where things lie on disk: the only module that knows. No path is built by hand anywhere else."""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from pathlib import Path

from dialogue_warehouse.errors import InputError

CLONE = Path(__file__).resolve().parent.parent
"""The clone this package runs from; where it is installed from a wheel, the folder that it and dbt's project lie in."""
IS_CLONE = (CLONE / "pyproject.toml").is_file()
DBT_PROJECT = CLONE / "dbt_project"


def in_home(path: str) -> Path:
    """A path that begins with `~`, below the user's home; below no folder where a user has none, as in a container."""
    try:
        return Path(path).expanduser()
    except RuntimeError:
        return Path(os.devnull, path)


DBT_LAST_PARSE = (DBT_PROJECT / "target" if IS_CLONE else in_home("~/.cache/dialogue-warehouse")) / (
    "partial_parse.msgpack"
)
"""What dbt keeps of its last parse, for whichever warehouse."""
DEFAULT_WAREHOUSE = (CLONE if IS_CLONE else Path.cwd()) / "warehouse"
"""The warehouse that a command means which names none: the clone's own, else one in the working folder."""


def absolute(path: Path) -> Path:
    """The path from the top of the file system; `~` is the user's home. Raises InputError where a user has none."""
    try:
        return path.expanduser().absolute()
    except RuntimeError:
        raise InputError(f"{path}: there is no home folder of this user; write the whole path") from None


BUILD_ID = re.compile(r"[0-9]{8}T[0-9]{12}Z")
"""The name of a build: the moment it began, in UTC."""
RAW_FILE = re.compile(r"(?P<stem>[^/]+-[0-9a-f]{16}-[0-9a-f]{12}|empty-[0-9a-f]{12})\.(parquet|json)")
"""The name of a landed file: its path, its content and its schema, or the empty file of an entity."""


def shell_history() -> Path:
    """What was typed into the shell of `sql`, where the user's programs keep such things."""
    state = os.environ.get("XDG_STATE_HOME") or "~/.local/state"
    return in_home(state) / "dialogue-warehouse" / "sql_history"


def example_queries() -> list[Path]:
    """The files with ten questions in SQL: of the clone, else those that were installed beside the package."""
    import sysconfig  # a command that asks for none does not need it

    installed = Path(sysconfig.get_path("data")) / "share" / "dialogue-warehouse"
    return sorted(((CLONE / "warehouse" if IS_CLONE else installed) / "queries").glob("*.sql"))


def tables_beside(database: Path) -> Path:
    """The folder of Parquet files that a database describes, where its rows are not in it."""
    return database.with_suffix(".tables")


@dataclass(frozen=True)
class WarehousePaths:
    """The layout of a warehouse folder.

    What a reader may open: `published` and the build that `pointer` names. Everything in `scratch` belongs to the
    build that runs, or to the last one that failed.
    """

    root: Path

    @property
    def mark(self) -> Path:
        """JSON `{"format": ...}`: says that the folder is a warehouse. It is the first file written into one."""
        return self.root / ".dialogue-warehouse"

    @property
    def places(self) -> tuple[Path, ...]:
        """Every file and folder at the top of a warehouse that this project writes."""
        return (
            *(self.mark, self.lock, self.pointer, self.started_publication, self.published, self.alerts, self.trouble),
            *(self.builds, self.raw, self.sample, self.reports, self.landing),
            *(self.scratch, self.scratch_spark, self.dagster_home),
        )

    @property
    def published(self) -> Path:
        """The published database: the build that `pointer` names, in a file of its own that nobody may write."""
        return self.root / "dialogues.duckdb"

    @property
    def pointer(self) -> Path:
        """JSON `{"build_id": ...}`: which build is published."""
        return self.root / "published.json"

    @property
    def started_publication(self) -> Path:
        """JSON `{"build_id": ...}` while a build is being published: what is left of one that was broken off."""
        return self.root / ".publishing.json"

    @property
    def builds(self) -> Path:
        """The kept builds, `<build_id>.duckdb` and `<build_id>.json`; of some the rows are in `<build_id>.tables`."""
        return self.root / "builds"

    def build_database(self, build_id: str) -> Path:
        """The database of one build."""
        return self.builds / f"{build_id}.duckdb"

    def build_tables(self, build_id: str) -> Path:
        """The Parquet files of one build's tables, `<schema>/<table>/…`, where they are not in its database."""
        return tables_beside(self.build_database(build_id))

    def build_manifest(self, build_id: str) -> Path:
        """JSON beside a build: source, summary, and the raw Parquet files of each raw table."""
        return self.builds / f"{build_id}.json"

    def build_restorations(self, build_id: str) -> Path:
        """JSON beside a build: what the last `verify` of it found, file by file."""
        return self.builds / f"{build_id}.restorations.json"

    @property
    def reports(self) -> Path:
        """The static site about the published build; `index.html` is its first page."""
        return self.root / "reports"

    @property
    def raw(self) -> Path:
        """The landed Parquet files, `<corpus_id>/<entity>/<file>-<content>-<schema>.parquet`."""
        return self.root / "raw"

    @property
    def landing(self) -> Path:
        """The publishers' own files as `fetch` downloads them, `<corpus_id>/<path>`: a folder to build from."""
        return self.root / "landing"

    @property
    def sample(self) -> Path:
        """The embedded sample's releases, generated on the spot."""
        return self.root / "sample"

    @property
    def dagster_home(self) -> Path:
        """Dagster's persistent instance."""
        return self.root / ".dagster"

    @property
    def alerts(self) -> Path:
        """Every message about a build that failed, or is well again: a JSON object a line."""
        return self.root / "alerts.jsonl"

    @property
    def trouble(self) -> Path:
        """JSON: what was told last, as long as it is not well again."""
        return self.root / ".trouble.json"

    @property
    def lock(self) -> Path:
        """Held by the build that runs."""
        return self.root / ".lock"

    @property
    def scratch(self) -> Path:
        """What a build works in; a constant place, so that dbt's partial parse holds."""
        return self.root / ".scratch"

    @property
    def scratch_database(self) -> Path:
        """The database that dbt writes; renamed to a build when it has passed."""
        return self.scratch / "dialogues.duckdb"

    def scratch_tables(self, build_id: str) -> Path:
        """The Parquet files that a build's tables are published in, before they are."""
        return tables_beside(self.scratch_catalog(build_id))

    def scratch_catalog(self, build_id: str) -> Path:
        """The database that describes those files, before it is published."""
        return self.scratch / f"{build_id}.duckdb"

    @property
    def scratch_staging(self) -> Path:
        """The database that holds the staging layer; thrown away."""
        return self.scratch / "staging.duckdb"

    @property
    def scratch_spark(self) -> Path:
        """What Spark needs for itself: tables that are thrown away, what it spills, what it prints."""
        return self.root / ".spark"

    @property
    def spark_tables(self) -> Path:
        """Where Spark writes the tables, `<schema>/<table>/[corpus_id=<id>/]*.parquet`."""
        return self.scratch / "spark_tables"

    @property
    def scratch_raw(self) -> Path:
        """Links to the raw Parquet files of this build, `<table>/<n>.parquet`: what dbt's sources read."""
        return self.scratch / "raw"

    @property
    def scratch_audit(self) -> Path:
        """Parquet written by the audit, `<table>/<n>.parquet`: what dbt's audit sources read."""
        return self.scratch / "audit"

    @property
    def scratch_state(self) -> Path:
        """JSON: what the steps of the running build tell each other."""
        return self.scratch / "build.json"

    @property
    def dbt_manifest(self) -> Path:
        """The parsed project, in dbt's own form."""
        return self.dbt_target / "manifest.json"

    @property
    def dbt_docs(self) -> Path:
        """Dbt's own documentation of the build that was published last, as one page."""
        return self.dbt_target / "dbt.html"

    @property
    def dbt_target(self) -> Path:
        """The target folder of dbt: manifest and partial parse."""
        return self.scratch / "dbt_target"
