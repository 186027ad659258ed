"""The commands about releases: `fetch` and `simulate`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from dialogue_warehouse.cli.options import (
    INTERRUPTED,
    Amount,
    Folder,
    cli,
    corpora_option,
    log_option,
    say,
    warehouse_option,
    warehouse_paths,
)
from dialogue_warehouse.common.text import command
from dialogue_warehouse.errors import require_extra
from dialogue_warehouse.paths import absolute
from dialogue_warehouse.settings import MOST, Settings


@cli.command()
@click.option("--to", "to", type=Folder, help="Folder to download into.  [default: landing/ of the warehouse]")
@click.option("--jobs", type=click.IntRange(1, MOST), help=f"Files downloaded at once.  [default: {Settings.jobs}]")
@click.option("--quiet", is_flag=True, help="Print errors only, no progress.")
@log_option
@corpora_option
@warehouse_option
def fetch(to: Path | None, quiet: bool, **options: Any) -> None:
    """Download the real releases, and check them.

    A file is written to TO/<corpus_id>/<path> and compared with the listed checksum.

    Complete files are skipped, interrupted downloads continue, and nothing is overwritten. If a URL fails, the
    mirrors that source.toml lists are used.
    """
    require_extra("build", "`fetch`")
    from pipelines.building import alerts
    from pipelines.ingestion import fetch_display, fetching

    settings = Settings.from_environment(**options)
    paths = warehouse_paths(settings)
    to = absolute(to) if to else paths.landing
    try:
        with fetch_display.FetchDisplay(quiet) as display:
            results = fetching.fetch(settings, to, display)
    except KeyboardInterrupt:
        say("interrupted; run the same command again to continue", INTERRUPTED)
        raise click.exceptions.Exit(INTERRUPTED) from None
    if not quiet:
        fetch_display.print_fetched(results, to, settings.warehouse)
    fetch_display.refuse_failures(results, settings.mirror)
    if to == (settings.source or paths.landing) and not options["only"]:  # the files of Dagster's job `fetch`
        unrecorded = alerts.tell_downloaded(paths, settings)
        if unrecorded:
            click.echo(f"notice: {unrecorded}", err=True)


@cli.command()
@click.option("--to", "to", type=Folder, required=True, help="Folder to write the releases into.")
@click.option(
    "--scale",
    type=Amount(0, 1000, min_open=True),
    default=0.01,
    show_default=True,
    help="Size compared with the real releases.",
)
@click.option("--seed", type=int, default=0, show_default=True, help="Seed of the random generator.")
@corpora_option
@warehouse_option
def simulate(to: Path, scale: float, seed: int, **options: Any) -> None:
    """Write generated releases.

    With --scale 1 they have as many dialogues as the real ones.
    """
    from dialogue_warehouse.common.progress import Reporter
    from dialogue_warehouse.corpora import registry
    from dialogue_warehouse.storage import ownership
    from pipelines.ingestion import simulating

    settings = Settings.from_environment(**options)
    ownership.refuse_owned(to)
    corpora = tuple(corpus.corpus_id for corpus in registry.load_corpora(settings.only))
    with Reporter(quiet=False).stage("simulate", f"scale {scale:g}") as stage:
        written = simulating.simulate(to, scale, seed, corpora, settings.processes)
        stage.detail, stage.counts = f"{len(written):,} files", {"files": len(written)}
    click.echo(f"next: {command('build', '--source', to, warehouse=settings.warehouse)}")
