"""The restoration asset: every file of the build rebuilt from core and compared with its source, one asset check.

Comparing is `pipelines.proving.verifying`. It runs when the settings ask for it (`--verify`); otherwise nothing is
compared, and the check says so. For the concept see https://docs.dagster.io/guides/test/asset-checks
"""

from collections.abc import Iterator

import dagster as dg

from pipelines.assets import labels
from pipelines.building import history, space, state
from pipelines.intake.landed import places_of
from pipelines.proving import verifying

RESTORATIONS = dg.AssetKey(["audit", "restorations"])
CHECK = "every_file_can_be_rebuilt"


def restoration_asset(models: list[dg.AssetKey]) -> dg.AssetsDefinition:
    """The comparison's Parquet, which dbt loads afterwards; `models` are what the files are rebuilt from."""
    spec = dg.AssetSpec(
        RESTORATIONS,
        deps=models,
        group_name="audit",
        description="One row per source file: is it equal when rebuilt.",
        owners=labels.OWNERS,
        kinds={"parquet"},
    )
    check = dg.AssetCheckSpec(CHECK, asset=RESTORATIONS, description="Each file rebuilt from core equals the one read.")

    @dg.multi_asset(
        name="restorations",
        specs=[spec],
        check_specs=[check],
        required_resource_keys={"settings", "paths", "reporter"},
        pool=labels.POOL,
    )
    @space.explained
    def restorations(context: dg.AssetExecutionContext) -> Iterator[dg.MaterializeResult | dg.AssetCheckResult]:
        settings, paths = context.resources.settings, context.resources.paths
        build = state.of_run(paths, context.run_id)
        results: list[verifying.Verified] = []
        if settings.verify:
            with context.resources.reporter.stage("verify", "warehouse") as stage:
                source = settings.source or paths.sample
                read = [corpus_id for corpus_id in build.corpora if corpus_id not in build.carried]
                for result in verifying.verify_database(
                    paths.scratch_database, source, read, settings, places_of(build.landed)
                ):
                    results.append(result)
                    stage.update(result.source_file_id)
                stage.detail = f"{len(results):,} files, {sum(result.records for result in results):,} records"
        verifying.write_results(results, paths.scratch_audit / "restorations")
        history.keep_restorations(build, paths, settings)
        unequal = sum(not result.is_equal for result in results)
        yield dg.MaterializeResult(asset_key=RESTORATIONS, metadata={"dagster/row_count": len(results)})
        yield dg.AssetCheckResult(
            passed=not unequal,
            check_name=CHECK,
            asset_key=RESTORATIONS,
            metadata={"files": len(results), "unequal": unequal, "compared": settings.verify},
        )
        verifying.refuse_differences(results)

    return restorations
