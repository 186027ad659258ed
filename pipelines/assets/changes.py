"""The asset of what differs from the published build: found before this one takes its place, and published with it.

Comparing is `pipelines.reading.changes`; a comparison that cannot be made ends the build.
"""

from dataclasses import replace

import dagster as dg

from pipelines.assets import labels
from pipelines.building import history, space, state
from pipelines.reading import recorded_changes

CHANGES = dg.AssetKey(["audit", "build_changes"])


def changes_asset(audited: list[dg.AssetKey]) -> dg.AssetsDefinition:
    """The comparison's Parquet, which dbt loads afterwards; `audited` are the models and verdicts that are compared."""

    @dg.asset(
        key=CHANGES,
        deps=audited,
        group_name="audit",
        description="One row per kind of change against the build before: rows, claims, rules, columns.",
        owners=labels.OWNERS,
        kinds={"parquet"},
        required_resource_keys={"settings", "paths", "reporter"},
        pool=labels.POOL,
    )
    @space.explained
    def build_changes(context: dg.AssetExecutionContext) -> dg.MaterializeResult:
        settings, paths = context.resources.settings, context.resources.paths
        build = state.of_run(paths, context.run_id)
        with context.resources.reporter.stage("compare", "warehouse") as stage:
            found = history.find_changes(build, paths, settings)
            told = recorded_changes.told_of(found) if found else ""
            stage.detail = told or "nothing to compare with"
        replace(build, changed=told).save(paths)
        return dg.MaterializeResult(metadata={"changes": told})

    return build_changes
