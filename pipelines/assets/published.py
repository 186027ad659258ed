"""The published warehouse: the last asset, made only when every model, test and suite before it has passed.

Publishing itself is `pipelines.publishing`.
"""

import dagster as dg

from pipelines import publishing


def published_asset(audited: list[dg.AssetKey]) -> dg.AssetsDefinition:
    """The database that readers open; `audited` are the last models of the build."""

    @dg.asset(
        key=["published", "dialogues"],
        deps=audited,
        group_name="published",
        description="The published warehouse, dialogues.duckdb: schemas core, analytics and quality.",
        kinds={"duckdb"},
        required_resource_keys={"settings", "paths", "reporter"},
    )
    def dialogues(context: dg.AssetExecutionContext) -> dg.MaterializeResult:
        settings = context.resources.settings
        paths = context.resources.paths
        build = publishing.current(paths)
        with context.resources.reporter.stage("publish", "warehouse") as stage:
            database = publishing.publish(build, paths, settings.builds_kept)
            stage.detail = f"build {build.build_id}"
        return dg.MaterializeResult(
            data_version=dg.DataVersion(build.fingerprint),
            metadata={"path": str(database), "bytes": database.stat().st_size, "build_id": build.build_id},
        )

    return dialogues
