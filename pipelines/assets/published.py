"""The published warehouse, made only when every model, test and suite before it has passed, and the report about it.

Publishing itself is `pipelines.building.publishing`, the report `pipelines.report`.
"""

import dagster as dg

from pipelines.assets import labels
from pipelines.building import publishing, space, state
from pipelines.errors import InputError
from pipelines.intake.landed import Landed, changes_since
from pipelines.paths import WarehousePaths
from pipelines.reading import builds
from pipelines.reading.connection import open_published
from pipelines.settings import Settings

PUBLISHED = dg.AssetKey(["published", "dialogues"])
REPORT = dg.AssetKey(["published", "report"])


def published_asset(audited: list[dg.AssetKey], told: Settings) -> dg.AssetsDefinition:
    """The database that readers open; `audited` are the last models of the build, `told` says when it is stale."""

    @dg.asset(
        key=PUBLISHED,
        deps=audited,
        group_name="published",
        description="The published warehouse, dialogues.duckdb: schemas core, analytics and quality.",
        kinds={"duckdb"},
        owners=labels.OWNERS,
        freshness_policy=labels.published_often_enough(told),
        required_resource_keys={"settings", "paths", "reporter"},
        pool=labels.POOL,
    )
    @space.explained
    def dialogues(context: dg.AssetExecutionContext) -> dg.MaterializeResult:
        settings = context.resources.settings
        paths = context.resources.paths
        build = state.of_run(paths, context.run_id)
        for change in changes_since(_landed_now(build), settings.source or paths.sample):
            context.resources.reporter.notice(change)
        with context.resources.reporter.stage("publish", "warehouse") as stage:
            database = publishing.publish(build, paths, settings)
            stage.detail = f"build {build.build_id}"
        for notice in publishing.tidy(paths, settings):
            context.resources.reporter.notice(notice)
        return dg.MaterializeResult(
            data_version=dg.DataVersion(build.fingerprint),
            metadata={
                "path": str(database),
                "bytes": builds.size_of(paths, build.build_id),
                "build_id": build.build_id,
            },
        )

    return dialogues


def _landed_now(build: state.Build) -> list[Landed]:
    """The files that this build has read itself."""
    return [file for file in build.landed if file.corpus_id not in build.carried]


def write_dbt_docs(paths: WarehousePaths, settings: Settings) -> None:
    """Write dbt's own documentation of the published build, of which the report has a copy. Raises InputError."""
    from pipelines.building import dbt_docs
    from pipelines.report import dictionary

    with open_published(paths, settings=settings) as con:
        tables = dictionary.read_tables(con)
    try:
        dbt_docs.write(paths.dbt_manifest, tables, paths.dbt_docs)
    except OSError as error:
        raise InputError(f"{paths.dbt_docs}: cannot be written: {error.strerror or error}") from error


def report_asset() -> dg.AssetsDefinition:
    """The static site about what was published. Its cost is well below a second, so that every build has one."""

    @dg.asset(
        key=REPORT,
        deps=[PUBLISHED],
        group_name="published",
        description="The data-quality site about the published warehouse, reports/index.html.",
        kinds={"html"},
        owners=labels.OWNERS,
        required_resource_keys={"settings", "paths", "reporter"},
        pool=labels.POOL,
    )
    @space.explained
    def report(context: dg.AssetExecutionContext) -> dg.MaterializeResult:
        from pipelines.report import site

        settings, paths, reporter = (getattr(context.resources, name) for name in ("settings", "paths", "reporter"))
        with reporter.stage("report", "site") as stage:
            try:
                write_dbt_docs(paths, settings)
                index = site.write_report(paths, settings)
            except InputError as error:  # what is published stays published
                reporter.notice(f"no report: {error}")
                stage.detail = "not written"
                return dg.MaterializeResult(metadata={"not_written": str(error)})
            stage.detail = str(index)
        size = sum(page.stat().st_size for page in index.parent.iterdir())
        return dg.MaterializeResult(metadata={"path": dg.MetadataValue.path(index), "bytes": size})

    return report
