"""Model assets: the dbt project in this graph, once for the warehouse itself and once for the tables of the audit.

dbt runs in this process (`pipelines.building.dbt`); its results become materializations and asset checks here. For the
concept see https://docs.dagster.io/integrations/libraries/dbt
"""

import contextlib
import functools
import queue
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import Any, NamedTuple

import dagster as dg
from dagster_dbt import DagsterDbtTranslator
from dagster_dbt.asset_utils import build_dbt_specs

from dialogue_warehouse.common.progress import Reporter, Stage
from dialogue_warehouse.errors import CheckError, counted
from dialogue_warehouse.paths import WarehousePaths
from dialogue_warehouse.settings import Settings
from dialogue_warehouse.storage.builds import PUBLISHED_SCHEMAS
from pipelines.building import dbt, failures, fallback, history, reusing, spark_models, state
from pipelines.building.session import Session, explained
from pipelines.dagster_graph import resources

UNIQUE_ID = "dagster_dbt/unique_id"
"""The metadata by which dagster-dbt links an asset or a check to a node of dbt."""
SOUND = "Every key is unique, every reference leads to a row, and every word is one that the vocabulary has."


class Translator(DagsterDbtTranslator):
    """Translator of dbt's nodes for Dagster: layer and corpus, owners, and the description of a test."""

    def get_group_name(self, dbt_resource_props: Mapping[str, Any]) -> str:
        """Return the layer, with the corpus if the model belongs to one: `staging_sgd`, `core`."""
        _, layer, *folders, _ = dbt_resource_props["fqn"]
        return folders[0] if layer == "marts" else "_".join([layer, *folders])

    def get_owners(self, dbt_resource_props: Mapping[str, Any]) -> list[str]:
        """Return the owners of every model."""
        return resources.OWNERS

    def get_asset_check_spec(self, *arguments: Any, **named: Any) -> dg.AssetCheckSpec | None:
        """Return the check of a test, with the test's own description."""
        spec = super().get_asset_check_spec(*arguments, **named)
        return spec and spec._replace(description=spec.description or SOUND)


WAREHOUSE = {"exclude": dbt.AUDIT_TAG}
"""The selection of the models that the audit reads."""


def model_assets(project: dbt.Parsed) -> list[dg.AssetsDefinition]:
    """Return the two dbt selections as assets.

    Neither can be run in part: a build is published whole, so a part of it could not be published.
    """
    manifest = _without_scratch(project.written)

    def assets(name: str, stage: str, **selection: str) -> dg.AssetsDefinition:
        narrowed = {"select": "fqn:*", "exclude": "", "selector": ""} | selection
        specs, checks = build_dbt_specs(
            translator=Translator(), manifest=manifest, io_manager_key=None, project=None, **narrowed
        )

        @dg.multi_asset(name=name, specs=specs, check_specs=checks, pool=resources.POOL)
        @explained
        def run(context: dg.AssetExecutionContext, session: dg.ResourceParam[Session]) -> Iterator[Any]:
            yield from _run(context, session, project, stage, **selection)

        return run

    return [
        assets("models", "model", **WAREHOUSE),
        assets("audit_models", "load", select=dbt.AUDIT_TAG),
    ]


def _without_scratch(written: dict[str, Any]) -> dict[str, Any]:
    """Return the manifest with every table of the scratch database as an ephemeral model.

    dagster-dbt makes no asset of an ephemeral model, and links the models on both sides of it. The tables are deleted
    before a build is published, so an asset of them would show nothing that exists.
    """
    nodes = {
        unique_id: node
        if node["resource_type"] != "model" or node["schema"] in PUBLISHED_SCHEMAS
        else node | {"config": node["config"] | {"materialized": "ephemeral"}}
        for unique_id, node in written["nodes"].items()
    }
    return written | {"nodes": nodes}


class Outcome(NamedTuple):
    """The outcome of a selection: all results, and the error of those that failed."""

    results: list[dbt.NodeResult]
    error: CheckError | None


class Events:
    """Dagster's events of the results of a step: a materialization of each table, an evaluation of each check."""

    def __init__(self, context: dg.AssetExecutionContext) -> None:
        """Map dbt's nodes to the assets and checks of the step."""
        self._context = context
        self._assets = {spec.metadata.get(UNIQUE_ID): spec.key for spec in context.assets_def.specs}
        self._checks = {spec.metadata.get(UNIQUE_ID): spec for spec in context.assets_def.check_specs}
        self._reported: set[dg.AssetKey | dg.AssetCheckKey] = set()

    def early(self, result: dbt.NodeResult) -> Iterator[Any]:
        """Yield the event of a node that has just finished.

        A failure has none yet: dbt may run again without the corpus that caused it. Nor has a check of a table that is
        reused, which is reported at the end.
        """
        check = self._checks.get(result.unique_id)
        if result.is_passed and (check is None or check.asset_key in self._reported):
            yield from self._of(result)

    def rest(self, results: Iterable[dbt.NodeResult]) -> Iterator[Any]:
        """Yield the events of those final results that have none yet."""
        for result in results:
            check = self._checks.get(result.unique_id)
            if (check.key if check else self._assets.get(result.unique_id)) not in self._reported:
                yield from self._of(result)

    def _of(self, result: dbt.NodeResult) -> Iterator[Any]:
        """Yield the event of a result."""
        metadata: dict[str, Any] = {"seconds": result.seconds}
        if result.rows is not None:
            metadata["dagster/row_count"] = result.rows
        if result.reused_from:
            metadata["reused_from"] = result.reused_from
        if check := self._checks.get(result.unique_id):
            metadata["failing_rows"] = result.failures
            yield from self._once(
                check.key,
                dg.AssetCheckResult(
                    asset_key=check.asset_key, check_name=check.name, passed=result.is_passed, metadata=metadata
                ),
                dg.AssetCheckEvaluation(check.asset_key, check.name, result.is_passed, metadata=metadata),
            )
        elif result.is_passed and (key := self._assets.get(result.unique_id)):
            made = dg.MaterializeResult(asset_key=key, metadata=metadata)
            yield from self._once(key, made, dg.AssetMaterialization(key, metadata=metadata))

    def _once(
        self,
        key: dg.AssetKey | dg.AssetCheckKey,
        result: dg.MaterializeResult | dg.AssetCheckResult,
        again: dg.AssetMaterialization | dg.AssetCheckEvaluation,
    ) -> Iterator[Any]:
        """Yield the result of an asset or a check; log the event of a second result, which a step cannot yield."""
        if key in self._reported:
            self._context.log_event(again)
        else:
            yield result
        self._reported.add(key)


def _run(
    context: dg.AssetExecutionContext, session: Session, project: dbt.Parsed, stage_name: str, **selection: str
) -> Iterator[Any]:
    """Run a selection, report every node of it to Dagster, and fail when one has failed.

    A node is reported as soon as it has finished, where a page can show it: not in a build of the command line, whose
    events are reported to the kept instance at its end, nor on Spark, whose tables are there when they are loaded.
    """
    run = functools.partial(_run_models, context.run_id, session, project, stage_name, selection)
    events = Events(context)
    if context.instance.is_ephemeral or session.spark:
        results, error = run(dbt.Watch())
    else:
        results, error = yield from watched(run, events.early, session.ending)
    if error is None and selection == WAREHOUSE:  # the audit works while the rest is reported
        settings, paths = session.settings, session.paths
        for notice in history.begin(session.audit, state.of_run(paths, context.run_id), paths, settings):
            session.reporter.notice(notice)
    yield from events.rest(results)
    if error is not None:
        raise error


def watched(
    run: Callable[[dbt.Watch], Outcome],
    events: Callable[[dbt.NodeResult], Iterator[Any]],
    ending: contextlib.ExitStack,
) -> Generator[Any, None, Outcome]:
    """Run dbt in a thread, and yield the events of nodes as they finish. Return the outcome.

    Dagster takes events only from the thread that runs the step, and raises an interrupt there: in this function, or
    while it stores an event; then it does not return here. In both cases `ending` ends dbt and closes the database.
    """
    finished: queue.SimpleQueue[dbt.NodeResult | None] = queue.SimpleQueue()
    watch = dbt.Watch(finished.put)
    thread = ThreadPoolExecutor(1, thread_name_prefix="dbt")
    running = thread.submit(run, watch)
    ending.callback(watch.end, running)
    running.add_done_callback(lambda _: finished.put(None))
    thread.shutdown(wait=False)
    for result in iter(finished.get, None):
        yield from events(result)
    return running.result()


def remodel(run_id: str, session: Session) -> None:
    """Make the warehouse's models again in a step that has found wrong rows. Raises CheckError when they fail then."""
    _, error = _run_models(run_id, session, dbt.parse_and_write(session.paths), "model", WAREHOUSE, dbt.Watch())
    if error is not None:
        raise error


def _run_models(
    run_id: str,
    session: Session,
    project: dbt.Parsed,
    stage_name: str,
    selection: Mapping[str, str],
    watch: dbt.Watch,
) -> Outcome:
    """Run a selection, and repeat without the rows of corpora that fail and can fall back.

    Return the results and the final error.
    """
    settings, paths, reporter = session.settings, session.paths, session.reporter
    build = state.of_run(paths, run_id)
    is_warehouse = selection == WAREHOUSE  # the tables of the audit are always loaded into the one DuckDB database
    spark = session.spark if is_warehouse else None
    while True:
        with reporter.stage(stage_name, "warehouse" if is_warehouse else "audit") as stage:
            shown = _shown(stage, watch)
            if is_warehouse and spark is None:
                results, build = _build_changed(project, build, paths, settings, shown)
            elif spark is None:
                results = dbt.build(project.manifest, paths, watch=shown, settings=settings, **selection)
            else:
                results = spark_models.build(
                    paths, spark, watch=shown, settings=settings, built=build.landed_corpora, **selection
                )
            ran = [result for result in results if not result.reused_from]
            tests = sum(result.is_test for result in ran)
            stage.counts = {"models": len(ran) - tests, "tests": tests, "reused": len(results) - len(ran)}
            stage.detail = f"{counted(len(ran) - tests, 'model')}, {counted(tests, 'test')}"
            if len(ran) < len(results):
                stage.detail += f"; {len(results) - len(ran)} reused"
        error = failures.failure(results, paths, spark_models.select(spark) if spark else None, settings)
        if error is None and spark is not None:
            results, error = _load(results, project.manifest, paths, settings, reporter)
        if error is None:
            return Outcome(results, None)
        try:
            build = fallback.fall_back_after(error, build, settings, paths, reporter)
        except CheckError as final:
            return Outcome(results, final)
        project = dbt.parse_and_write(paths)  # a run changes the manifest


def _shown(stage: Stage, watch: dbt.Watch) -> dbt.Watch:
    """Return a watch that also shows on the terminal which node has finished."""

    def finished(result: dbt.NodeResult) -> None:
        stage.update(result.name)
        watch.finished(result)

    return replace(watch, finished=finished)


def _build_changed(
    project: dbt.Parsed, build: state.Build, paths: WarehousePaths, settings: Settings, watch: dbt.Watch
) -> tuple[list[dbt.NodeResult], state.Build]:
    """Run those models and tests of the warehouse that can give a new result."""
    reuse = reusing.plan(project.written, build, paths, settings)
    run = functools.partial(
        dbt.build, project.manifest, paths, watch=watch, settings=settings, built=build.landed_corpora
    )
    if reuse.base is None:
        results = run(exclude=dbt.AUDIT_TAG)
    else:
        results = reusing.run(reuse, paths, settings, lambda selector: run(select=selector, tests="empty"))
    return results, replace(build, definitions=reuse.now, reused=tuple(reuse.reused())).save(paths)


def _load(
    results: list[dbt.NodeResult], manifest: Any, paths: WarehousePaths, settings: Settings, reporter: Reporter
) -> Outcome:
    """Make the one database of the tables that Spark has written. Return the results with the rows of the tables."""
    with reporter.stage("load", "tables") as stage:
        models = {result.unique_id for result in results if not result.is_test}
        loaded = spark_models.load(manifest, paths, models, settings)
        stage.detail = f"{len(loaded)} tables"
    rows = {result.unique_id: result.rows for result in loaded}
    results = [replace(result, rows=rows.get(result.unique_id)) for result in results]
    return Outcome(results, failures.failure(loaded, paths, settings=settings))
