"""The command `build`: checks what the user gave, runs the asset graph in this process, and sums up.

The same graph that `dagster dev` shows, with Dagster's in-process executor on a persistent instance. The audit's child
process imports Great Expectations while landing and models run.
"""

from __future__ import annotations

import os
import shlex
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import duckdb

from expectations.client import AuditError, AuditProcess
from pipelines import publishing, registry, releases
from pipelines.corpus import Corpus
from pipelines.errors import InputError
from pipelines.landing import GLOB_CHARACTERS
from pipelines.paths import WarehousePaths
from pipelines.publishing import BuildError
from pipelines.reporting import VERDICTS, Reporter
from pipelines.settings import FORMS, Settings, silence_telemetry
from pipelines.status import places


@dataclass(frozen=True)
class Summary:
    """What a build came to."""

    build_id: str
    database: Path
    bytes: int
    corpora: list[dict[str, Any]]
    """A row of analytics.corpus_overview each, with `passed`, `warned` and `failed` checks."""
    marts: dict[str, Any]
    """The suite about the shared tables: evaluated, passed, warned, failed."""
    warnings: list[str] = field(default_factory=list)
    notices: list[str] = field(default_factory=list)
    places: list[str] = field(default_factory=list)
    """Where the real releases come from and where to put them; empty when real data was built."""
    is_unchanged: bool = False
    """Nothing was built, because the published build was made from the same files and the same code."""


def build(settings: Settings, reporter: Reporter) -> Summary:
    """Build the warehouse of the settings' source and publish it, unless what is published is just that.

    Raises InputError for what the user gave (no release there, a file that is refused), BuildError for a check that
    failed or a build that could not be made. In both cases what was published before stays as it is.
    """
    silence_telemetry()
    paths = WarehousePaths(settings.warehouse)
    _check_input(settings, paths)
    with publishing.exclusive(paths):
        if not settings.force and publishing.unchanged(settings):
            return replace(_summarize(settings, paths, reporter), is_unchanged=True)
        with AuditProcess() as audit, releases.Lander(paths.raw, settings) as lander:
            try:
                _run_graph(settings, paths, reporter, audit, lander)
            except AuditError as error:
                raise BuildError(str(error)) from error
    return _summarize(settings, paths, reporter)


def _check_input(settings: Settings, paths: WarehousePaths) -> None:
    """Raise InputError before anything is done."""
    if GLOB_CHARACTERS & set(str(paths.root)):
        raise InputError(f"{paths.root}: the path of a warehouse cannot have any of * ? [ ] {{ }}")
    corpora = registry.load_corpora(settings.only)
    if settings.form != FORMS[0]:
        _check_form(settings, corpora)
        return
    if settings.source is None:
        return
    download = f"`dialogue-warehouse fetch --to {shlex.quote(str(settings.source))}` downloads the releases"
    if not settings.source.is_dir():
        raise InputError(f"{settings.source}: no such folder ({download})")
    if not any(releases.find_release(corpus, settings.source).files for corpus in corpora):
        places = ", ".join(f"{corpus.corpus_id}/" for corpus in corpora)
        raise InputError(
            f"{settings.source}: no data file of {places.replace('/', '')}; expected below {places} "
            f"({download}, `dialogue-warehouse status` lists where they come from)"
        )


def _check_form(settings: Settings, corpora: tuple[Corpus, ...]) -> None:
    """Raise InputError when the source has nothing of the form asked for."""
    forms = {corpus: registry.load_form(corpus.corpus_id, settings.form) for corpus in corpora}
    datasets = sorted({f"{form.dataset}/{table.config}/" for form in forms.values() if form for table in form.tables})
    if not datasets:
        raise InputError(f"{settings.form}: no form of {', '.join(corpus.corpus_id for corpus in corpora)}")
    if settings.source is None:
        raise InputError(f"--form {settings.form} reads a --source with {', '.join(datasets)}")
    if not settings.source.is_dir():
        raise InputError(f"{settings.source}: no such folder")
    if not any(releases.find_form(corpus, settings.source, form).files for corpus, form in forms.items()):
        raise InputError(
            f"{settings.source}: no data file of the form {settings.form}; "
            f"expected <split>.parquet or <split>.jsonl below {', '.join(datasets)}"
        )


def _run_graph(
    settings: Settings, paths: WarehousePaths, reporter: Reporter, audit: AuditProcess, lander: releases.Lander
) -> None:
    """Run the job `build` with our own resources; what a step raises comes through."""
    with reporter.stage("load", "framework") as stage:
        paths.dagster_home.mkdir(exist_ok=True)
        os.environ["DAGSTER_HOME"] = str(paths.dagster_home)
        audit.start()
        if settings.source is not None:
            lander.start(releases.find(corpus, settings, paths) for corpus in registry.load_corpora(settings.only))
        import dagster as dg

        from pipelines import event_log
        from pipelines.definitions import assemble
        from pipelines.jobs import BUILD

        yaml = event_log.instance_settings(paths.dagster_home)
        (paths.dagster_home / "dagster.yaml").write_text(yaml, encoding="utf-8")
        job = assemble(settings).resolve_job_def(BUILD)
        stage.detail = "Dagster and dbt"
    resources = {"settings": settings, "audit": audit, "lander": lander, "reporter": reporter, "paths": paths}
    quiet = {"loggers": {"console": {"config": {"log_level": "CRITICAL"}}}}
    with dg.DagsterInstance.get() as instance:
        job.execute_in_process(run_config=quiet, instance=instance, resources=resources)


def _summarize(settings: Settings, paths: WarehousePaths, reporter: Reporter) -> Summary:
    """Read the summary from what was published."""
    build_id = paths.published_build()
    assert build_id is not None
    database = paths.build_database(build_id)
    with duckdb.connect(str(database), read_only=True) as con:
        overview = con.sql("select * from analytics.corpus_overview order by corpus_id").to_arrow_table().to_pylist()
        tallies = con.execute(
            """
            select
                suite,
                count(*) filter (where success) as passed,
                count(*) filter (where not success and severity <> 'critical') as warned,
                count(*) filter (where not success and severity = 'critical') as failed
            from quality.expectation_results
            where build_id = ?
            group by suite
            """,
            [build_id],
        ).fetchall()
        warnings = con.execute(
            "select suite, expectation, description, observed from quality.expectation_results "
            "where build_id = ? and not success order by suite, expectation",
            [build_id],
        ).fetchall()
    checks = {suite: dict(zip(VERDICTS, counts, strict=True)) for suite, *counts in tallies}
    nothing = dict.fromkeys(VERDICTS, 0)
    return Summary(
        build_id=build_id,
        database=paths.published,
        bytes=database.stat().st_size,
        corpora=[row | checks.get(row["corpus_id"], nothing) for row in overview],
        marts=checks.get("marts", nothing),
        warnings=[f"{suite}: {name}: {what}; {observed}" for suite, name, what, observed in warnings],
        notices=reporter.notices,
        places=[] if settings.source else places(registry.load_corpora(settings.only)),
    )
