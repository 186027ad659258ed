"""The commands about builds (`build`, `status`, `rollback`, `diff`, `keep`, `report`, `dashboard`) and new corpora."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import click

from dialogue_warehouse.cli.options import Folder, cli, corpora_option, form_option, warehouse_option, warehouse_paths
from dialogue_warehouse.common.text import HOST, PORT, command
from dialogue_warehouse.errors import InputError, require_extra
from dialogue_warehouse.paths import WarehousePaths, absolute
from dialogue_warehouse.settings import DUCKDB_TABLES, ENGINES, TABLES, Settings


@cli.command()
@click.option(
    "--source",
    type=Folder,
    help="Folder with the releases, SOURCE/<corpus_id>/<path as published>.  [default: a sample]",
)
@form_option
@click.option(
    "--engine", type=click.Choice(ENGINES), help="Engine that lands files and runs models.  [default: duckdb]"
)
@click.option(
    "--tables",
    type=click.Choice(TABLES),
    help=f"Publish the tables in one file of DuckDB, or each in files of Parquet.  [default: {DUCKDB_TABLES}]",
)
@click.option(
    "--strict",
    is_flag=True,
    default=None,
    help="Refuse what the schemas do not accept; block on warnings.",
)
@click.option("--verify", is_flag=True, default=None, help="Compare restored files before publishing.")
@click.option("--force", is_flag=True, default=None, help="Build even if nothing changed, all of it.")
@click.option("--replace", is_flag=True, default=None, help="Publish even if it has less than is published.")
@click.option(
    "--keep-going/--stop",
    default=None,
    help="If a corpus is damaged or fails a check, keep its published rows and build the others.  [default: stop]",
)
@click.option("--quiet", is_flag=True, help="No progress; errors only.")
@corpora_option
@warehouse_option
def build(quiet: bool, **options: Any) -> None:
    """Land, model, audit and publish the warehouse.

    Without --source the embedded sample is built: the releases of all corpora, generated, in their true shapes.
    """
    require_extra("build", "`build`")
    from dialogue_warehouse.common.progress import Reporter
    from pipelines.building.summary import print_summary
    from pipelines.dagster_graph.build import build_warehouse

    settings = Settings.from_environment(**options)
    summary = build_warehouse(settings, Reporter(quiet), _load_graph)
    if summary.is_unchanged:
        summary = replace(summary, notices=summary.notices + _renew_report(settings, summary.build_id))
    if not quiet:
        print_summary(summary)


@cli.command()
@click.option("--source", type=Folder, help="Folder with the releases, to see what of them is there.")
@form_option
@warehouse_option
def status(**options: Any) -> None:
    """Show what is published, which builds are kept, and which files of the releases are missing or not read."""
    from dialogue_warehouse.terminal.status import print_status, read_status

    settings = Settings.from_environment(**options)
    print_status(read_status(warehouse_paths(settings), settings))


@cli.command()
@click.argument("build_id", metavar="[BUILD]", required=False)
@warehouse_option
def rollback(build_id: str | None, **options: Any) -> None:
    """Publish BUILD again, a build that is kept; without it the one before the published one.

    Readers see it at once. Nothing is built or removed, so that the same command leads forward again. BUILD may be the
    beginning of an id, as `status` lists them.
    """
    from dialogue_warehouse.storage.publication import roll_back

    settings = Settings.from_environment(**options)
    paths = warehouse_paths(settings)
    before, now = roll_back(paths, build_id)
    click.echo(f"published  build {now}{', as it was' if now == before else f', before {before}'}")
    for notice in _renew_report(settings, now):
        click.echo(notice)


@cli.command()
@click.argument("base", metavar="[BASE]", required=False)
@click.argument("build_id", metavar="[BUILD]", required=False)
@click.option("--json", "as_json", is_flag=True, help="All of it, as one JSON object.")
@warehouse_option
def diff(base: str | None, build_id: str | None, as_json: bool, **options: Any) -> None:
    """Show what differs between two builds that are kept: rows by key, verdicts of claims, counts of rules, columns.

    Without BUILD it is the published one, without BASE the one published before it.
    """
    from dialogue_warehouse.reading import changes
    from dialogue_warehouse.storage import builds, retention

    settings = Settings.from_environment(**options)
    paths = warehouse_paths(settings)
    published = builds.published_build(paths)[0]
    build_id = retention.find(paths, build_id) if build_id else published
    base = retention.find(paths, base) if base else retention.one_before(paths, build_id)
    found = changes.find(paths, base, build_id, settings)
    if as_json:
        import msgspec

        click.echo(msgspec.json.format(msgspec.json.encode(found), indent=1).decode())
    else:
        from dialogue_warehouse.terminal.results import print_changes

        print_changes(found)


@cli.command()
@click.argument("build_id", metavar="[BUILD]", required=False)
@click.option("--no-longer", is_flag=True, help="Unpin BUILD, so that it may be removed again.")
@warehouse_option
def keep(build_id: str | None, no_longer: bool, **options: Any) -> None:
    """Pin BUILD, so that it is kept however many builds follow; without it the published one."""
    from dialogue_warehouse.storage.publication import pin

    paths = warehouse_paths(Settings.from_environment(**options))
    pinned = pin(paths, build_id, is_pinned=not no_longer)
    until = f"is kept until `{command('keep', pinned, '--no-longer', warehouse=paths.root)}`"
    click.echo(f"build {pinned} {'is not pinned any more' if no_longer else until}")


@cli.command()
@click.option("--to", "to", type=Folder, help="Folder to write the site into.  [default: reports/ of the warehouse]")
@warehouse_option
def report(to: Path | None, **options: Any) -> None:
    """Write the data-quality site about the published build: claims, defects, expectations, dictionary.

    Its pages open from disk and load nothing from a network. A build writes them too.
    """
    from dialogue_warehouse.site.report import write_report

    settings = Settings.from_environment(**options)
    click.echo(f"open {write_report(warehouse_paths(settings), settings, to)}")


@cli.command()
@click.option("--host", default=HOST, show_default=True, help="Address to listen on.")
@click.option("--port", default=PORT, show_default=True, type=click.IntRange(1, 65535), help="Port to serve.")
@warehouse_option
def dashboard(host: str, port: int, **options: Any) -> None:
    """Serve pages about the published build: pictures, dialogues to read, quality, SQL. Ctrl-C ends it.

    They only read, and load nothing from a network. Needs the extra `dashboard`.
    """
    from dialogue_warehouse.dashboard import serving

    serving.serve(warehouse_paths(Settings.from_environment(**options)), host, port)


def _renew_report(settings: Settings, build_id: str) -> list[str]:
    """Write the report again if it is about another build; return notices. A failure does not fail the command."""
    from dialogue_warehouse.reading import damage
    from dialogue_warehouse.site.report import is_about, write_report

    paths = WarehousePaths(settings.warehouse)
    try:
        if not is_about(build_id, paths.reports):
            return [f"the report was of another build: {write_report(paths, settings)} is written anew"]
    except Exception as error:
        told = error if isinstance(error, InputError) else damage.cause_of(error, paths)
        if told is None:
            raise
        return [f"no report: {told}"]
    return []


def _load_graph(settings: Settings) -> Any:
    """Return the job that builds everything. Dagster is imported only here, when it is needed."""
    from pipelines.dagster_graph.graph import load_graph

    return load_graph(settings)


@cli.command("new-corpus")
@click.argument("name")
@click.option("--like", metavar="CORPUS", help="Copy this corpus.  [default: the smallest there can be]")
@warehouse_option
def new_corpus(name: str, like: str | None, warehouse: Path | None) -> None:
    """Start a further corpus: write every file that it needs into a clone of the project, to be edited.

    Nothing is overwritten. docs/add_a_corpus.md says what each file is for, and in which order to edit them.
    """
    from dialogue_warehouse.corpora import starting

    for path in starting.start_corpus(name, like):
        click.echo(path)
    build = command("build", warehouse=warehouse and absolute(warehouse))
    click.echo(f"next: {build}; docs/add_a_corpus.md, from step 2 on")
