"""The command about corpora: `new-corpus`."""

from __future__ import annotations

import click

from pipelines.cli.options import cli


@cli.command("new-corpus")
@click.argument("name")
@click.option("--like", metavar="CORPUS", help="Copy this corpus.  [default: the smallest there can be]")
def new_corpus(name: str, like: str | None) -> None:
    """Start the room of a further corpus: write every piece that it needs into the clone, to be edited.

    Nothing is overwritten. What each piece is for, and in which order they are edited, stands in docs/add_a_corpus.md.
    """
    from pipelines.corpora import starting

    for path in starting.start_corpus(name, like):
        click.echo(path)
    click.echo(
        "next: docs/add_a_corpus.md, from step 2 on; what is written builds as it is: `dialogue-warehouse build`"
    )
