"""The models on Spark: the same project with tables as folders of Parquet, and one database made from those.

dbt-spark turns off ANSI mode, which makes a bad cast an error, before every statement and in spite of the profile; here
it stays on.
"""

from __future__ import annotations

import contextlib
from collections.abc import Collection, Generator
from typing import TYPE_CHECKING

from dialogue_warehouse.common import files
from dialogue_warehouse.common.database import literal
from dialogue_warehouse.paths import WarehousePaths
from dialogue_warehouse.settings import DUCKDB, SPARK, Settings
from dialogue_warehouse.storage.builds import PUBLISHED_SCHEMAS
from pipelines.building import dbt, fallback
from pipelines.cluster import session
from pipelines.cluster.session import Spark

if TYPE_CHECKING:
    from dbt.contracts.graph.manifest import Manifest

ANSI = "spark.sql.ansi.enabled"
PREFIX = "dialogue_warehouse"
"""The prefix of the schemas' names on Spark, as in `profiles.yml`."""
THROWN_AWAY = ("staging", "intermediate", "rules")
NO_FILE = "none"
"""The value of `made_of` where a table has no rows, and so no file."""


def build(
    paths: WarehousePaths,
    spark: Spark,
    exclude: str | None = None,
    watch: dbt.Watch | None = None,
    settings: Settings | None = None,
    built: Collection[str] | None = None,
) -> list[dbt.NodeResult]:
    """Run the models and their tests on Spark; the tables are in `spark_tables`. Raises ModelError and ClusterError."""
    manifest = dbt.parse(paths, SPARK)
    _make_schemas(manifest, paths, spark)
    with _ansi(), session.server_settings() if isinstance(spark, session.Server) else contextlib.nullcontext():
        return dbt.build(manifest, paths, exclude=exclude, watch=watch, settings=settings, engine=SPARK, built=built)


def load(
    manifest: Manifest, paths: WarehousePaths, names: set[str], settings: Settings | None = None
) -> list[dbt.NodeResult]:
    """Make the database of the tables that Spark has written: the models of these ids, with contracts and comments.

    They are the same models with the same hooks; they select the rows of the files.
    """
    nodes = [node for node in manifest.nodes.values() if node.unique_id in names and node.schema in PUBLISHED_SCHEMAS]
    tables = files.plain_path(paths.spark_tables)  # a name such as `text=x` above it would be read as a column
    for node in nodes:
        folder = tables / node.schema / node.name
        has_rows = any(folder.rglob("*.parquet"))
        node.config[dbt.MADE_OF] = f"{folder}/**/*.parquet" if has_rows else NO_FILE
    select = " ".join(node.name for node in nodes)
    return dbt.build(manifest, paths, select=select, settings=settings, engine=DUCKDB, command="run")


def select(spark: Spark) -> fallback.Select:
    """Return a function that returns the first rows of a query on Spark."""
    return lambda query, most: spark.sql(query, most)


def _make_schemas(manifest: Manifest, paths: WarehousePaths, spark: Spark) -> None:
    """Create empty schemas whose tables lie below the scratch folder, and one with the landed files as tables."""
    for name in (*PUBLISHED_SCHEMAS, *THROWN_AWAY, "raw"):
        folder = paths.spark_tables / name if name in PUBLISHED_SCHEMAS else paths.scratch_spark / name
        spark.sql(f"drop schema if exists {PREFIX}_{name} cascade")
        files.remove(folder)
        spark.sql(f"create schema {PREFIX}_{name} location {literal(str(folder))}")
    for source in manifest.sources.values():
        if source.schema == "raw":
            source.schema = f"{PREFIX}_raw"
            place = literal(str(paths.scratch_raw / source.name))
            spark.sql(f"create table {PREFIX}_raw.{source.name} using parquet location {place}")


@contextlib.contextmanager
def _ansi() -> Generator[None]:
    """Keep ANSI mode on, so that a bad cast is an error, as long as the context lasts."""
    from dbt.adapters.spark.connections import SparkCredentials

    by_dbt = SparkCredentials.__post_init__

    def finished(credentials: SparkCredentials) -> None:
        by_dbt(credentials)
        credentials.server_side_parameters[ANSI] = "true"

    SparkCredentials.__post_init__ = finished
    try:
        yield
    finally:
        SparkCredentials.__post_init__ = by_dbt
