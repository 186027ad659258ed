"""The command `score`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from click.core import ParameterSource

from dialogue_warehouse.cli import completing
from dialogue_warehouse.cli.options import Folder, cli, place_option, result_options, warehouse_paths
from dialogue_warehouse.common.text import visible
from dialogue_warehouse.errors import CheckError, counted
from dialogue_warehouse.settings import Settings

if TYPE_CHECKING:
    from dialogue_warehouse.scoring.running import Scores

Predicted = click.Path(path_type=Path)
MOST_SLOTS = 10
"""Number of slots that are listed below the metrics."""
WITH_EXAMPLE = {"corpus", "split", "example", "force", "warehouse"}
"""The options that have an effect with --example."""


@cli.command()
@click.option(
    "--corpus", required=True, shell_complete=completing.corpus, help="Corpus that the predictions are about."
)
@click.option("--split", help="Split that the predictions are about: train, validation, test or none.")
@click.option("--predictions", type=Predicted, metavar="PATH", help="File or folder of predictions: .json or .jsonl.")
@click.option(
    "--fuzzy",
    type=click.Choice(("difflib", "levenshtein", "exact")),
    help="Only this way of comparing texts.  [default: all ways that the corpus has]",
)
@click.option("--across-turn", is_flag=True, help="Multiply joint metrics over the frames of a turn.")
@click.option("--strict", is_flag=True, help="End with status 1 if a prediction is missing, or does not count.")
@click.option(
    "--without-defects",
    type=click.Choice(("here", "from-then-on")),
    help="here: leave out turns with a known defect; from-then-on: also later turns that carry the affected state.",
)
@click.option("--against", type=Predicted, metavar="PATH", help="Other predictions, for a paired test.")
@click.option("--example", type=Folder, help="Write a small valid file of each form into this folder, and end.")
@click.option("--force", is_flag=True, help="With --example: overwrite existing files that differ.")
@click.option(
    "--to", "to", type=click.Path(dir_okay=False, path_type=Path), help="Keep the results in this DuckDB file, too."
)
@result_options
@place_option
def score(
    corpus: str,
    predictions: Path | None,
    fuzzy: str | None,
    strict: bool,
    example: Path | None,
    force: bool,
    to: Path | None,
    form: str | None,
    warehouse: Path | None,
    **options: Any,
) -> None:
    """Compute the official metrics of a corpus over predictions.

    The table has the main groups; --json, --csv and --to have all. docs/score.md describes metrics and files.

    Example: dialogue-warehouse score --corpus CORPUS --split test --predictions FOLDER
    """
    from dialogue_warehouse.scoring.examples import write_examples
    from dialogue_warehouse.scoring.running import Request, score_published

    settings = Settings.from_environment(warehouse=warehouse)
    paths = warehouse_paths(settings)
    if example is not None:
        _refuse_with_example()
        for path in write_examples(paths, settings, corpus, options["split"], example, force):
            click.echo(path)
        return
    if force:
        raise click.UsageError("--force has no effect without --example FOLDER")
    if predictions is None:
        raise click.UsageError("--predictions is missing; --example FOLDER writes example files")
    request = Request(corpus, predictions, variant=fuzzy, **options)
    with score_published(paths, settings, request, to) as scores:
        _print(scores, form)
        if strict and not scores.is_complete():
            raise CheckError(f"{corpus}: --strict: predictions are missing, or do not count")


def _refuse_with_example() -> None:
    """Refuse an option that has no effect with --example."""
    context = click.get_current_context()
    for option in context.command.params:
        name = option.name or ""
        if name not in WITH_EXAMPLE and context.get_parameter_source(name) == ParameterSource.COMMANDLINE:
            raise click.UsageError(f"{option.opts[0]} has no effect with --example FOLDER")


def _print(scores: Scores, form: str | None) -> None:
    """Print the metrics; for people also the notices, and the slots with most errors."""
    from dialogue_warehouse.reading.query import run_query
    from dialogue_warehouse.scoring import summaries
    from dialogue_warehouse.terminal import printing

    is_short = form in (None, "table", "vertical")
    for whose, notices in (("", scores.notices), ("--against: ", scores.against_notices)):
        for problem, times, file, place in notices:
            click.echo(visible(f"{whose}{counted(times, 'time')}: {problem}; first in {file}: {place}"), err=True)
    printing.print_result(run_query(scores.con, summaries.metrics_query(scores, is_short)), form)
    if is_short and (query := summaries.slots_query(scores, MOST_SLOTS)) is not None:
        printing.print_result(run_query(scores.con, query), form)
