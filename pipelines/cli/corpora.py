"""The command about corpora: `new-corpus`."""

from __future__ import annotations

from pathlib import Path

import click

from pipelines.cli.options import cli, warehouse_option
from pipelines.commands import command
from pipelines.paths import absolute


@cli.command("new-corpus")
@click.argument("name")
@click.option("--like", metavar="CORPUS", help="Copy this corpus.  [default: the smallest there can be]")
@warehouse_option
def new_corpus(name: str, like: str | None, warehouse: Path | None) -> None:
    """Start the room of a further corpus: write every piece that it needs into the clone, to be edited.

    Nothing is overwritten. What each piece is for, and in which order they are edited, stands in docs/add_a_corpus.md.
    """
    from pipelines.corpora import starting

    for path in starting.start_corpus(name, like):
        click.echo(path)
    build = command("build", warehouse=warehouse and absolute(warehouse))
    click.echo(f"next: {build}; docs/add_a_corpus.md, from step 2 on")
