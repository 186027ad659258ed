"""The commands about builds: `build`, `status`, `report`."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import click

from pipelines.cli.options import (
    Folder,
    cli,
    corpora_option,
    form_option,
    warehouse_option,
    warehouse_paths,
)
from pipelines.errors import InputError
from pipelines.paths import WarehousePaths
from pipelines.settings import Settings


@cli.command()
@click.option("--source", type=Folder, help="Folder with the releases, SOURCE/<corpus_id>/…  [default: a sample]")
@form_option
@click.option("--strict", is_flag=True, default=None, help="Refuse what the schemas do not know; block on warnings.")
@click.option("--verify", is_flag=True, default=None, help="Rebuild every file from core and compare first.")
@click.option("--force", is_flag=True, default=None, help="Build although nothing changed; land every file again.")
@click.option("--replace", is_flag=True, default=None, help="Replace even what has more corpora, or real files.")
@click.option("--quiet", is_flag=True, help="No progress; errors only.")
@corpora_option
@warehouse_option
def build(quiet: bool, **options: Any) -> None:
    """Land, model, audit and publish the warehouse.

    Without --source the embedded sample is built: the releases of all corpora, generated, in their true shapes.
    """
    from pipelines.building.build import build_warehouse
    from pipelines.building.progress import Reporter
    from pipelines.building.summary import print_summary

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
    """Show what is published, which builds are kept, and which files of the releases are missing."""
    from pipelines.building import status

    settings = Settings.from_environment(**options)
    status.print_status(status.status(warehouse_paths(settings), settings))


@cli.command()
@click.option("--to", "to", type=Folder, help="Folder to write the site into.  [default: reports/ of the warehouse]")
@warehouse_option
def report(to: Path | None, **options: Any) -> None:
    """Write the data-quality site about the published build: claims, defects, expectations, dictionary.

    Its pages open from disk and load nothing from a network. A build writes them too.
    """
    from pipelines.report import site

    settings = Settings.from_environment(**options)
    click.echo(f"open {site.write_report(warehouse_paths(settings), settings, to)}")


def _renew_report(settings: Settings, build_id: str) -> list[str]:
    """Write the report of a build whose own was broken off; what is to be told of it, which fails nothing."""
    from pipelines.report import site

    paths = WarehousePaths(settings.warehouse)
    try:
        if not site.is_about(build_id, paths.reports):
            return [f"the report was of another build: {site.write_report(paths, settings)} is written anew"]
    except InputError as error:
        return [f"no report: {error}"]
    return []


def _load_graph(settings: Settings) -> Any:
    """The job that builds everything; importing Dagster waits until it is needed."""
    from pipelines.assets.graph import load_graph

    return load_graph(settings)
