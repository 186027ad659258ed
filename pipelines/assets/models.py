"""Model assets: the dbt project in this graph, once for the warehouse itself and once for what the audit wrote.

dbt runs in this process (`pipelines.building.dbt`); its results become materializations and asset checks here.
For the concept see https://docs.dagster.io/integrations/libraries/dbt
"""

import json
from collections.abc import Iterator
from typing import Any

import dagster as dg
from dagster_dbt import dbt_assets

from pipelines.building import dbt
from pipelines.paths import WarehousePaths

UNIQUE_ID = "dagster_dbt/unique_id"
"""The metadata by which dagster-dbt ties an asset or a check to a node of dbt."""


def model_assets(paths: WarehousePaths, manifest: Any) -> list[dg.AssetsDefinition]:
    """The two dbt selections as assets; `manifest` is the parsed project."""
    written = json.loads(dbt.manifest_path(paths).read_text(encoding="utf-8"))

    @dbt_assets(manifest=written, exclude=dbt.AUDIT_TAG, name="models", required_resource_keys=RESOURCES)
    def models(context: dg.AssetExecutionContext) -> Iterator[Any]:
        yield from _run(context, manifest, "model", exclude=dbt.AUDIT_TAG)

    @dbt_assets(manifest=written, select=dbt.AUDIT_TAG, name="audit_models", required_resource_keys=RESOURCES)
    def audit_models(context: dg.AssetExecutionContext) -> Iterator[Any]:
        yield from _run(context, manifest, "load", select=dbt.AUDIT_TAG)

    return [models, audit_models]


RESOURCES = {"settings", "paths", "reporter"}


def _run(context: dg.AssetExecutionContext, manifest: Any, stage_name: str, **selection: str) -> Iterator[Any]:
    """Run a selection, report every node of it to Dagster, and fail when one has failed."""
    settings, paths = context.resources.settings, context.resources.paths
    with context.resources.reporter.stage(stage_name, "warehouse" if stage_name == "model" else "audit") as stage:
        results = dbt.build(manifest, paths, report=stage.update, settings=settings, **selection)
        tests = sum(result.is_test for result in results)
        stage.detail = f"{len(results) - tests} models, {tests} tests"
    assets = {spec.metadata.get(UNIQUE_ID): spec.key for spec in context.assets_def.specs}
    checks = {spec.metadata.get(UNIQUE_ID): spec for spec in context.assets_def.check_specs}
    for result in results:
        metadata = {"seconds": result.seconds}
        if result.is_test:
            if spec := checks.get(result.unique_id):
                yield dg.AssetCheckResult(
                    passed=result.is_passed,
                    asset_key=spec.asset_key,
                    check_name=spec.name,
                    metadata=metadata | {"failing_rows": result.failures},
                )
        elif result.is_passed and result.unique_id in assets:
            yield dg.MaterializeResult(asset_key=assets[result.unique_id], metadata=metadata)
    dbt.refuse_failures(results, paths)
