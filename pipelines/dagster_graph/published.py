"""The published warehouse, made when every model, test and suite has passed; what has changed; and the report.

Publishing is in `pipelines.building.publishing`, comparing in `dialogue_warehouse.reading.changes`, the report in
`dialogue_warehouse.site`. A comparison that fails ends the build.
"""

from collections.abc import Iterator
from dataclasses import replace

import dagster as dg

from dialogue_warehouse.corpora import registry
from dialogue_warehouse.corpora.release import Corpus
from dialogue_warehouse.errors import InputError, first_line
from dialogue_warehouse.paths import WarehousePaths
from dialogue_warehouse.reading import changes
from dialogue_warehouse.reading.connection import open_published
from dialogue_warehouse.releases.unpacking import MISMATCH
from dialogue_warehouse.settings import Settings
from dialogue_warehouse.storage import builds, retention
from dialogue_warehouse.storage.landed import Landed, changes_since
from pipelines.building import fingerprint, history, publishing, state
from pipelines.building.session import Session, explained
from pipelines.dagster_graph import resources
from pipelines.dagster_graph.instance import PUBLISHED, REPORT

CHANGES = dg.AssetKey(["audit", "build_changes"])


def changes_asset(audited: list[dg.AssetKey]) -> dg.AssetsDefinition:
    """Return the asset of the comparison's Parquet, which dbt loads afterwards.

    `audited` are the models and verdicts that are compared.
    """

    @dg.asset(
        key=CHANGES,
        deps=audited,
        group_name="audit",
        description="One row per kind of change against the build before: rows, claims, rules, columns.",
        owners=resources.OWNERS,
        kinds={"parquet"},
        pool=resources.POOL,
    )
    @explained
    def build_changes(context: dg.AssetExecutionContext, session: dg.ResourceParam[Session]) -> dg.MaterializeResult:
        settings, paths = session.settings, session.paths
        build = state.of_run(paths, context.run_id)
        with session.reporter.stage("compare", "warehouse") as stage:
            found = history.find_changes(build, paths, settings)
            changed = changes.describe(found) if found else ""
            stage.detail = changed or "nothing to compare with"
        replace(build, changed=changed, base_build_id=found and found.base_build_id).save(paths)
        return dg.MaterializeResult(metadata={"changes": changed})

    return build_changes


CHECKED = dg.AssetKey(["source", "checked"])
NOT_STALE = "no_corpus_is_stale"


def checked_spec(settings: Settings) -> dg.AssetSpec:
    """Return the spec of the last check of the source; the settings say when it is stale.

    A sensor reports it. It shows if the service works while the source, and so the warehouse, does not change.
    """
    return dg.AssetSpec(
        CHECKED,
        group_name="landing",
        description="The source was checked: a build was published, or nothing had changed.",
        owners=resources.OWNERS,
        kinds={"file"},
        freshness_policy=resources.check_freshness(settings),
    )


def published_asset(audited: list[dg.AssetKey]) -> dg.AssetsDefinition:
    """Return the asset of the database that readers open; `audited` are the last models of the build."""
    spec = dg.AssetSpec(
        PUBLISHED,
        deps=audited,
        group_name="published",
        description="The published warehouse, dialogues.duckdb: schemas core, analytics and quality.",
        kinds={"duckdb"},
        owners=resources.OWNERS,
        skippable=True,
    )
    check = dg.AssetCheckSpec(
        NOT_STALE, asset=PUBLISHED, description="No corpus fell back to its published files because of damaged ones."
    )

    @dg.multi_asset(name="dialogues", specs=[spec], check_specs=[check], pool=resources.POOL)
    @explained
    def dialogues(
        context: dg.AssetExecutionContext, session: dg.ResourceParam[Session]
    ) -> Iterator[dg.MaterializeResult | dg.AssetCheckResult]:
        settings, paths, reporter = session.settings, session.paths, session.reporter
        build = state.of_run(paths, context.run_id)
        if fingerprint.compare_landed(build, session):
            resources.end_early(context, session)
            yield _staleness(build)
            return
        for change in changes_since(_landed_now(build), session.source.folder):
            reporter.notice(change)
        with reporter.stage("publish", "warehouse") as stage:
            database = publishing.publish(build, paths, settings)
            stage.detail = f"build {build.build_id}"
        for notice in publishing.tidy(paths, settings):
            reporter.notice(notice)
        yield dg.MaterializeResult(
            asset_key=PUBLISHED,
            data_version=dg.DataVersion(build.fingerprint),
            metadata={
                "path": str(database),
                "bytes": builds.size_of(paths, build.build_id),
                "build_id": build.build_id,
                "changed": build.changed,
                "carried": sorted(build.fallbacks),
                "mismatched": sum(file.verification == MISMATCH for file in build.landed),
                "missing": sum(len(session.source.release(corpus).missing) for corpus in _read(build)),
                "notices": [notice for notices in build.notices.values() for notice in notices],
            },
        )
        yield _staleness(build)

    return dialogues


def _staleness(build: state.Build) -> dg.AssetCheckResult:
    """Return the warning about the corpora that fell back because their files are damaged."""
    stale = {corpus_id: one.describe(corpus_id) for corpus_id, one in build.fallbacks.items() if one.is_damaged}
    return dg.AssetCheckResult(
        passed=not stale,
        check_name=NOT_STALE,
        asset_key=PUBLISHED,
        severity=dg.AssetCheckSeverity.WARN,
        description="\n".join(stale.values()) or None,
        metadata={"stale": sorted(stale)},
    )


def _read(build: state.Build) -> list[Corpus]:
    """Return the corpora that this build has read at the source."""
    return [registry.load_corpus(corpus_id) for corpus_id in build.corpora if corpus_id not in build.fallbacks]


def _landed_now(build: state.Build) -> list[Landed]:
    """Return the files that this build has landed, without those that it reuses."""
    return [file for file in build.landed if file.corpus_id not in build.fallbacks]


def write_dbt_docs(paths: WarehousePaths, settings: Settings) -> None:
    """Write dbt's own documentation of the published build, of which the report has a copy. Raises InputError.

    It is written once, and only for the build made last: dbt's manifest is that of this build.
    """
    from dialogue_warehouse.reading import catalogue
    from dialogue_warehouse.site import report
    from pipelines.building import dbt_docs

    build_id, _ = builds.published_build(paths)
    if build_id != retention.kept_builds(paths)[-1] or report.dbt_docs_of(build_id, paths) is not None:
        return
    with open_published(paths, settings=settings) as con:
        tables = catalogue.describe_tables(con, has_filling=False)
    try:
        dbt_docs.write(paths.dbt_manifest, tables, paths.dbt_docs, report.build_meta(build_id))
    except (OSError, ValueError) as error:  # also a manifest that is damaged, or a page of another version of dbt
        reason = getattr(error, "strerror", None) or first_line(error)
        raise InputError(f"{paths.dbt_docs}: cannot be written: {reason}") from error


def report_asset() -> dg.AssetsDefinition:
    """Return the asset of the static site about the published build.

    It takes a small part of the time of a build, so every build has one.
    """

    @dg.asset(
        key=REPORT,
        deps=[PUBLISHED],
        group_name="published",
        description="The data-quality site about the published warehouse, reports/index.html.",
        kinds={"html"},
        owners=resources.OWNERS,
        pool=resources.POOL,
    )
    @explained
    def report(context: dg.AssetExecutionContext, session: dg.ResourceParam[Session]) -> dg.MaterializeResult:
        from dialogue_warehouse.site.report import write_report

        settings, paths, reporter = session.settings, session.paths, session.reporter
        with reporter.stage("report", "site") as stage:
            try:
                write_dbt_docs(paths, settings)
                index = write_report(paths, settings)
            except InputError as error:  # the published build stays published
                reporter.notice(f"no report: {error}")
                stage.detail = "not written"
                return dg.MaterializeResult(metadata={"not_written": str(error)})
            stage.detail = str(index)
        size = sum(page.stat().st_size for page in index.parent.iterdir())
        return dg.MaterializeResult(metadata={"path": dg.MetadataValue.path(index), "bytes": size})

    return report
