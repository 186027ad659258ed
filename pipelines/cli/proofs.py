"""The commands that hold a build against its source: `verify`, `restore`, `trace`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from pipelines.cli.options import (
    Folder,
    cli,
    corpora_option,
    warehouse_option,
    warehouse_paths,
)
from pipelines.settings import Settings


@cli.command()
@click.option("--source", type=Folder, help="Folder with the releases.  [default: the one the build was made from]")
@click.option("--json", "as_json", is_flag=True, help="A JSON array, one object a file.")
@corpora_option
@warehouse_option
def verify(as_json: bool, **options: Any) -> None:
    """Rebuild every upstream file from core tables and compare it with the source."""
    from pipelines.proving import verify_display, verifying

    settings = Settings.from_environment(**options)
    paths = warehouse_paths(settings)
    verifying.refuse_damage(paths)
    results = verifying.verify_published(paths, settings)
    verify_display.print_results(results, as_json)
    verifying.refuse_differences(results)


@cli.command()
@click.option("--corpus", required=True, help="The corpus whose files to write.")
@click.option("--to", "to", type=Folder, required=True, help="Folder to write them into, as TO/<path as published>.")
@click.option("--force", "overwrites", is_flag=True, help="Overwrite files that are there and differ.")
@warehouse_option
def restore(corpus: str, to: Path, overwrites: bool, **options: Any) -> None:
    """Write a corpus's upstream files, rebuilt from core tables alone.

    A file that is there and differs is not overwritten: nothing is written then.
    """
    from pipelines.proving import restoring

    settings = Settings.from_environment(**options)
    written = restoring.restore_published(warehouse_paths(settings), settings, corpus, to, overwrites)
    click.echo(f"{len(written):,} files written below {to}")


@cli.command()
@click.argument("key")
@click.option("--source", type=Folder, help="Folder with the releases.  [default: where the build was made from]")
@click.option("--json", "as_json", is_flag=True, help="One JSON object, complete.")
@warehouse_option
def trace(key: str, as_json: bool, **options: Any) -> None:
    """Show where the row of a KEY comes from: source file, record, JSON pointer, and the JSON there.

    KEY is the own key of any table, such as an action_key. In SQL: core.json_pointer(KEY), from core.source_of(KEY).
    """
    from pipelines.proving import trace_display, tracing

    settings = Settings.from_environment(**options)
    trace_display.print_trace(tracing.trace(warehouse_paths(settings), settings, key), as_json)
