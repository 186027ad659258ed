"""The commands about builds (`build`, `status`, `rollback`, `diff`, `keep`, `report`, `dashboard`)."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from dialogue_warehouse.cli import completing
from dialogue_warehouse.cli.options import (
    CHECK_FAILED,
    Folder,
    cli,
    corpora_option,
    form_option,
    log_option,
    say,
    scores_option,
    warehouse_option,
    warehouse_paths,
)
from dialogue_warehouse.common.text import HOST, PORT, command
from dialogue_warehouse.errors import InputError, require_extra
from dialogue_warehouse.paths import WarehousePaths
from dialogue_warehouse.settings import DUCKDB_TABLES, ENGINES, TABLES, Settings, misspelt_variables

if TYPE_CHECKING:
    from dialogue_warehouse.storage.health import Problem


@cli.command()
@click.option(
    "--source",
    type=Folder,
    help="Folder with the releases, SOURCE/<corpus_id>/<path as published>.  [default: the embedded sample]",
)
@form_option
@click.option(
    "--engine", type=click.Choice(ENGINES), help="Engine that lands files and runs models.  [default: duckdb]"
)
@click.option(
    "--tables",
    type=click.Choice(TABLES),
    help=f"Format of the published tables: one DuckDB file, or Parquet files.  [default: {DUCKDB_TABLES}]",
)
@click.option(
    "--strict/--no-strict",
    default=None,
    help="Fail on keys and records that the schemas do not accept, and on warnings of checks.",
)
@click.option("--verify/--no-verify", default=None, help="Rebuild and compare every upstream file before publishing.")
@click.option("--force/--no-force", default=None, help="Build everything again, even if nothing has changed.")
@click.option(
    "--replace/--no-replace",
    default=None,
    help="Publish even if the published warehouse has more corpora, or real files where this build has generated ones.",
)
@click.option(
    "--keep-going/--stop",
    default=None,
    help="If a corpus is damaged or fails a check, use its files of the published build for it, and build the others. "
    "--stop: fail.  [default: stop]",
)
@click.option("--quiet", is_flag=True, help="Print errors and stale corpora only, no progress.")
@log_option
@corpora_option
@warehouse_option
def build(quiet: bool, **options: Any) -> None:
    """Build the warehouse, audit it and publish it.

    The files are landed (checked, and written as Parquet), and the models run. The result is published if no critical
    check fails.

    Without --source the embedded sample is built: generated releases of all corpora, in the format of the real ones.
    The exit status is 1 if a check failed, and if the build is published but a corpus is stale (see --keep-going).
    """
    require_extra("build", "`build`")
    from dialogue_warehouse.common.progress import Reporter
    from pipelines.building.summary import log_summary, print_summary, refuse_stale
    from pipelines.dagster_graph.build import build_warehouse

    settings = Settings.from_environment(**options)
    summary = build_warehouse(settings, Reporter(quiet), _load_graph)
    if summary.is_unchanged:
        summary = replace(summary, notices=summary.notices + _renew_report(settings, summary.build_id))
    if not quiet:
        log_summary(summary)
        print_summary(summary)
    refuse_stale(warehouse_paths(settings), summary.build_id)


@cli.command()
@click.option("--source", type=Folder, help="Folder with the releases.  [default: the source of the published build]")
@click.option("--json", "as_json", is_flag=True, help="Print everything as one JSON object.")
@click.option(
    "--alert",
    is_flag=True,
    help="Send an alert if no check of the source has finished for DIALOGUE_HEARTBEAT_HOURS; use it in a timer. "
    "Needs the extra `build`.",
)
@form_option
@warehouse_option
def status(as_json: bool, alert: bool, **options: Any) -> None:
    """Show the published build, and what is missing or stale.

    The output lists the kept builds, and the files of the releases that are missing or not read.

    The exit status is 1 if nothing is published, the last build failed, a corpus is stale, or files of the published
    build are damaged; the last lines say which. With --alert it is also 1 if the source was not checked for too long.
    The status is 2 if the dagster.yaml of the warehouse is wrong.
    """
    from dialogue_warehouse.terminal.status import print_status, read_status
    from pipelines.dagster_graph import configuration

    settings = Settings.from_environment(**options)
    paths = warehouse_paths(settings)
    late = _send_alert(paths, settings) if alert else ()
    for misspelt in misspelt_variables():
        say(f"note: {misspelt}", 0)
    found = read_status(paths, settings)
    found = replace(found, problems=(*found.problems, *late))
    if as_json:
        import msgspec

        click.echo(json.dumps(msgspec.to_builtins(found), indent=1))  # ASCII: a file's name may not be UTF-8
    else:
        print_status(found, only=settings.only)
    configuration.check(paths)
    if found.problems:
        raise click.exceptions.Exit(CHECK_FAILED)


def _send_alert(paths: WarehousePaths, settings: Settings) -> tuple[Problem, ...]:
    """Send an alert if the source was not checked for too long; return the problem, if there is one.

    Raises InputError for a folder that is not a warehouse, such as that of a disk that is not mounted.
    """
    require_extra("build", "`status --alert`")
    from dialogue_warehouse.storage import ownership
    from pipelines.building import alerts

    if not ownership.is_warehouse(paths):
        if paths.root.is_dir():
            next(paths.root.iterdir(), None)  # one of another user: its error says so
        raise InputError(f"{paths.root}: is not a warehouse; mount its disk, or name another folder with --warehouse")
    problem, unrecorded = alerts.tell_silence(paths, settings)
    if unrecorded:
        click.echo(f"notice: {unrecorded}", err=True)
    return (problem,) if problem else ()


@cli.command()
@click.argument("build_id", metavar="[BUILD]", required=False, shell_complete=completing.kept_builds)
@warehouse_option
def rollback(build_id: str | None, **options: Any) -> None:
    """Publish an earlier BUILD again.

    BUILD is by default the build that was published before the current one.

    Readers see it at once. Nothing is built or removed, so `rollback` with the newer BUILD publishes that one again.
    BUILD is an id that `status` lists, or the beginning of one.
    """
    from dialogue_warehouse.storage.publication import roll_back

    settings = Settings.from_environment(**options)
    paths = warehouse_paths(settings)
    before, now = roll_back(paths, build_id, click.echo)
    click.echo(f"published  build {now}{', as it was' if now == before else f', before {before}'}")
    for notice in _renew_report(settings, now):
        click.echo(notice)


@cli.command()
@click.argument("base", metavar="[BASE]", required=False, shell_complete=completing.kept_builds)
@click.argument("build_id", metavar="[BUILD]", required=False, shell_complete=completing.kept_builds)
@click.option("--json", "as_json", is_flag=True, help="Print everything as one JSON object.")
@warehouse_option
def diff(base: str | None, build_id: str | None, as_json: bool, **options: Any) -> None:
    """Compare two kept builds.

    The command compares rows by key, verdicts of claims, cases of rules, and columns.

    BUILD is the published build by default, and BASE the build published before BUILD.
    """
    from dialogue_warehouse.reading import changes
    from dialogue_warehouse.storage import builds, retention
    from dialogue_warehouse.terminal import results

    settings = Settings.from_environment(**options)
    paths = warehouse_paths(settings)
    published = builds.published_build(paths)[0]
    build_id = retention.find(paths, build_id) if build_id is not None else published
    base = retention.find(paths, base) if base is not None else retention.one_before(paths, build_id)
    found = changes.find(paths, base, build_id, settings)
    if as_json:
        click.echo(results.as_json(found, indent=1))
    else:
        results.print_changes(found)


@cli.command()
@click.argument("build_id", metavar="[BUILD]", required=False, shell_complete=completing.kept_builds)
@click.option("--no-longer", is_flag=True, help="Unpin BUILD, so that later builds may remove it.")
@warehouse_option
def keep(build_id: str | None, no_longer: bool, **options: Any) -> None:
    """Pin BUILD, so that later builds do not remove it.

    BUILD is the published build by default.
    """
    from dialogue_warehouse.storage.publication import pin

    paths = warehouse_paths(Settings.from_environment(**options))
    pinned = pin(paths, build_id, is_pinned=not no_longer)
    until = f"is kept until `{command('keep', pinned, '--no-longer', warehouse=paths.root)}`"
    click.echo(f"build {pinned} {'is no longer pinned' if no_longer else until}")


@cli.command()
@click.option("--to", "to", type=Folder, help="Folder to write the report into.  [default: reports/ of the warehouse]")
@scores_option
@warehouse_option
def report(to: Path | None, scores: Path | None, **options: Any) -> None:
    """Write the data-quality report about the published build.

    The report has claims, defects, expectations and the dictionary.

    Its pages open from disk and load nothing from a network. A build writes the report too.
    """
    from dialogue_warehouse.site.report import write_report

    settings = Settings.from_environment(**options)
    paths = warehouse_paths(settings)
    _check_scores(paths, settings, scores)
    click.echo(f"open {write_report(paths, settings, to, scores)}")


@cli.command()
@click.option("--host", default=HOST, show_default=True, help="Address to listen on.")
@click.option("--port", default=PORT, show_default=True, type=click.IntRange(1, 65535), help="Port to listen on.")
@scores_option
@warehouse_option
def dashboard(host: str, port: int, scores: Path | None, **options: Any) -> None:
    """Serve pages about the published build.

    The pages show dialogues, tables, SQL and data quality. Ctrl-C stops the server.

    The pages are read-only and load nothing from a network.
    """
    from dialogue_warehouse.site import serving

    settings = Settings.from_environment(**options)
    paths = warehouse_paths(settings)
    _check_scores(paths, settings, scores)
    serving.serve(paths, settings, host, port, scores)


def _check_scores(paths: WarehousePaths, settings: Settings, scores: Path | None) -> None:
    """Refuse a file of results that cannot be shown, and print what its readers must know."""
    if scores is not None:
        from dialogue_warehouse.site.scores import check

        for notice in check(paths, settings, scores):
            click.echo(notice, err=True)


def _renew_report(settings: Settings, build_id: str) -> list[str]:
    """Show or write the report of this build if it is about another one; return notices.

    A failure does not fail the command.
    """
    from dialogue_warehouse.reading import damage
    from dialogue_warehouse.site.report import is_about, show_again, write_report

    paths = WarehousePaths(settings.warehouse)
    try:
        if is_about(build_id, paths.reports):
            return []
        cause = "was about another build" if (paths.reports / "index.html").is_file() else "was missing"
        if (index := show_again(paths, build_id)) is not None:
            return [f"the report {cause}: {index} is that of build {build_id} again"]
        return [f"the report {cause}: {write_report(paths, settings)} is written again"]
    except Exception as error:
        reason = error if isinstance(error, InputError) else damage.cause_of(error, paths)
        if reason is None:
            raise
        index = paths.reports / "index.html"
        left = f"; {index} is about another build" if index.is_file() else ""
        return [f"no report of build {build_id}: {reason}{left}"]


def _load_graph(settings: Settings) -> Any:
    """Return the job that builds everything. Dagster is imported only here, when it is needed."""
    from pipelines.dagster_graph.graph import load_graph

    return load_graph(settings)
