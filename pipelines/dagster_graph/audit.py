"""The assets of the audit and of the restoration, with one asset check per suite and one for all restored files.

The suites of `expectations` run in a child process, because importing the library takes longer than using it. Files are
restored and compared (`dialogue_warehouse.lineage.verifying`) where the settings request it (`--verify`). For the
concept see https://docs.dagster.io/guides/test/asset-checks
"""

from collections.abc import Iterator
from pathlib import Path

import dagster as dg

from dialogue_warehouse.corpora.suites import OUTCOMES, QUERY_ROWS, load_suites
from dialogue_warehouse.errors import CheckError, counted
from dialogue_warehouse.lineage import verifying
from dialogue_warehouse.settings import Settings
from dialogue_warehouse.storage.landed import places_of
from expectations.verdicts import describe_rows
from pipelines.building import fallback, history, state
from pipelines.building.history import first_cases
from pipelines.building.session import Session, explained
from pipelines.dagster_graph import models, resources

RESTORATIONS = dg.AssetKey(["audit", "restorations"])
CHECK = "every_file_can_be_rebuilt"


def restoration_asset(models: list[dg.AssetKey]) -> dg.AssetsDefinition:
    """Return the asset of the comparison's Parquet, which dbt loads afterwards; files are rebuilt from `models`."""
    spec = dg.AssetSpec(
        RESTORATIONS,
        deps=models,
        group_name="audit",
        description="One row per source file: whether the restored file equals it.",
        owners=resources.OWNERS,
        kinds={"parquet"},
    )
    check = dg.AssetCheckSpec(
        CHECK, asset=RESTORATIONS, description="Each file restored from core equals the one that was read."
    )

    @dg.multi_asset(
        name="restorations",
        specs=[spec],
        check_specs=[check],
        pool=resources.POOL,
    )
    @explained
    def restorations(
        context: dg.AssetExecutionContext, session: dg.ResourceParam[Session]
    ) -> Iterator[dg.MaterializeResult | dg.AssetCheckResult]:
        settings, paths = session.settings, session.paths
        build = state.of_run(paths, context.run_id)
        results: list[verifying.Verified] = []
        if settings.verify:
            with session.reporter.stage("verify", "warehouse") as stage:
                read = [corpus_id for corpus_id in build.corpora if corpus_id not in build.fallbacks]
                for result in verifying.verify_database(
                    paths.scratch_database, session.source.folder, read, settings, places_of(build.landed)
                ):
                    results.append(result)
                    stage.update(result.source_file_id)
                records = sum(result.records for result in results)
                stage.counts = {"files": len(results), "records": records}
                stage.detail = f"{counted(len(results), 'file')}, {counted(records, 'record')}"
        verifying.write_results(results, paths.scratch_audit / "restorations", settings)
        history.copy_restorations(build, paths, settings)
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


RESULTS = dg.AssetKey(["audit", "expectation_results"])
NOT_BUILT = {"evaluated": 0, "note": "nothing of the corpus that can be judged is in this build"}
BUILDS = dg.AssetKey(["audit", "builds"])
LEDGER = {
    dg.AssetKey(["audit", "claims"]): "One row per claim: what a document says of a corpus.",
    dg.AssetKey(["audit", "claim_checks"]): "One row per claim: its verdict.",
    dg.AssetKey(["audit", "violation_rules"]): (
        "One row per rule of the violations: its number of cases, and the known number where there is one."
    ),
}
WRITTEN = {
    RESULTS: "One row per expectation: its result.",
    BUILDS: "One row per build: this one, and those before it.",
} | LEDGER


def audit_asset(audited: list[dg.AssetKey]) -> dg.AssetsDefinition:
    """Return the asset of the audit's Parquet, which dbt loads afterwards; `audited` are the models that it reads."""
    specs, checks = _specs(audited)

    @dg.multi_asset(name="audit", specs=specs, check_specs=checks, pool=resources.POOL)
    @explained
    def audit(
        context: dg.AssetExecutionContext, session: dg.ResourceParam[Session]
    ) -> Iterator[dg.MaterializeResult | dg.AssetCheckResult]:
        summary, error = _audit_again(context.run_id, session)
        evaluated = sum(suite["evaluated"] for suite in summary.values())
        yield dg.MaterializeResult(asset_key=RESULTS, metadata={"dagster/row_count": evaluated})
        yield dg.MaterializeResult(asset_key=BUILDS, metadata={"dagster/row_count": 1})
        for key in LEDGER:
            yield dg.MaterializeResult(asset_key=key)
        for check in checks:
            if check.name not in summary:  # Dagster requires a result of each check
                yield dg.AssetCheckResult(passed=True, check_name=check.name, asset_key=RESULTS, metadata=NOT_BUILT)
        for name, suite in summary.items():
            is_blocked = bool(suite["failed"])
            yield dg.AssetCheckResult(
                passed=not (suite["failed"] or suite["warned"]),
                check_name=name,
                asset_key=RESULTS,
                severity=dg.AssetCheckSeverity.ERROR if is_blocked else dg.AssetCheckSeverity.WARN,
                metadata={key: suite[key] for key in ("evaluated", *OUTCOMES)} | suite.get("verdicts", {}),
            )
        if error is not None:
            raise error

    return audit


def _audit_again(run_id: str, session: Session) -> tuple[dict[str, dict], CheckError | None]:
    """Audit, and repeat without the rows of corpora that fail and can fall back.

    Return the summary and the final error.
    """
    settings, paths = session.settings, session.paths
    build = state.of_run(paths, run_id)
    while True:
        summary = _audit(session, build)
        error = failure(summary, build.strict, paths.scratch_database, settings)
        if error is None:
            return summary, None
        try:
            fallback.fall_back_after(error, build, settings, paths, session.reporter)
        except CheckError as final:
            return summary, final
        models.remodel(run_id, session)
        build = state.of_run(paths, run_id)


def _audit(session: Session, build: state.Build) -> dict[str, dict]:
    """Run every suite over the built database. Return the summary of each."""
    audit, reporter = session.audit, session.reporter
    with reporter.stage("audit", "warehouse") as stage:
        if not audit.is_asked:  # it has begun already, unless the models were made again
            for notice in history.begin(audit, build, session.paths, session.settings):
                reporter.notice(notice)
        summary = audit.answer()
        stage.seconds = audit.seconds
        evaluated = sum(suite["evaluated"] for suite in summary.values())
        stage.detail = f"{len(summary)} suites, {evaluated} expectations"
        stage.counts = {"suites": len(summary), "expectations": evaluated}
    return summary


def _specs(audited: list[dg.AssetKey]) -> tuple[list[dg.AssetSpec], list[dg.AssetCheckSpec]]:
    """Return the specs of the audit's tables and of its checks, one per suite."""
    kinds = {"parquet", "greatexpectations"}
    specs = [
        dg.AssetSpec(
            key, deps=audited, group_name="audit", description=description, owners=resources.OWNERS, kinds=kinds
        )
        for key, description in WRITTEN.items()
    ]
    checks = [
        dg.AssetCheckSpec(
            suite.name,
            asset=RESULTS,
            description=f"{len(suite.expectations)} expectations of Great Expectations: {suite.name}.",
        )
        for suite in load_suites()
    ]
    return specs, checks


def failure(summary: dict[str, dict], strict: bool, database: Path, settings: Settings) -> state.BuildError | None:
    """Return an error with a line for each critical expectation that failed; None if none did.

    Under `strict` it has a line for each warning too. A line names the first cases in the built `database`: file,
    record and key.
    """
    failures = [
        (name, failed)
        for name, suite in summary.items()
        for failed in suite["failures"]
        if strict or failed["severity"] == "critical"
    ]
    if not failures:
        return None
    declared = {(suite.name, one.expectation_id): one for suite in load_suites() for one in suite.expectations}
    described = []
    for name, failed in failures:
        what = f"{failed['expectation']} ({failed['severity']}): {failed['description']}; {failed['observed']}"
        one = declared[name, failed["expectation"]]
        if one.type == QUERY_ROWS:
            what += f", expected {describe_rows(one.kwargs['rows'])}"
        cases = first_cases(database, name, one, settings)
        line = f"{name}: {what}{'; such as ' if cases else ''}{'; '.join(cases)}"
        described.append((line, fallback.named([name]) or fallback.of_rows([case] for case in cases)))
    return state.BuildError("\n".join(line for line, _ in described), fallback.at_fault(described))
