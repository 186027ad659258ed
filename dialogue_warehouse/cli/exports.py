"""The command `export`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from click.core import ParameterSource

from dialogue_warehouse.cli.options import (
    Folder,
    cli,
    log_option,
    place_option,
    sample_options,
    selection_options,
    warehouse_paths,
)
from dialogue_warehouse.errors import counted
from dialogue_warehouse.paths import absolute
from dialogue_warehouse.settings import Settings

if TYPE_CHECKING:
    from dialogue_warehouse.reading.selection import Selection

FORMS = {
    "chat": "messages and tools as JSON Lines",
    "huggingface": "the same as Parquet, with a page for the Hugging Face Hub",
    "preference": "chosen and rejected answers as JSON Lines",
}
OF_CHAT = ("profile", "arguments", "targets", "instructions")
"""Options for messages, which the form `preference` does not have."""


@cli.command()
@click.option(
    "--form",
    type=click.Choice(tuple(FORMS)),
    required=True,
    help="; ".join(f"{name}: {text}" for name, text in FORMS.items()) + ".",
)
@click.option("--to", "to", type=Folder, required=True, help="Folder to write into; each corpus has a folder in it.")
@click.option(
    "--profile",
    type=click.Choice(("faithful", "alternating")),
    default="faithful",
    show_default=True,
    help="faithful: each turn is a message. alternating: user and assistant take turns, beginning with the user.",
)
@click.option(
    "--arguments",
    type=click.Choice(("object", "string")),
    default="object",
    show_default=True,
    help="Arguments of a call: a JSON object, or a string with JSON.",
)
@click.option(
    "--targets",
    type=click.Choice(("weight", "train")),
    help="Mark the messages to train on, which are those of the assistant without a known defect: weight (0 or 1) or "
    "train (true or false).",
)
@click.option("--instructions", is_flag=True, help="Add the instructions of the agent as the system prompt.")
@click.option(
    "--max-characters",
    type=click.IntRange(1),
    metavar="N",
    help="Leave out examples whose messages and tools have more than N characters as JSON.",
)
@selection_options
@sample_options
@click.option("--force", "overwrites", is_flag=True, help="Overwrite existing files that differ.")
@click.option("--quiet", is_flag=True, help="Print errors only, no progress.")
@log_option
@place_option
def export(
    form: str, to: Path, selection: Selection, overwrites: bool, quiet: bool, warehouse: Path | None, **options: Any
) -> None:
    """Write dialogues as training data.

    There is a file for each corpus and split.

    If an existing file differs, nothing is written unless --force is given. docs/export.md describes the forms.

    Example: dialogue-warehouse export --form chat --to DIR --split train --without-leaks
    """
    from dialogue_warehouse.common.progress import Reporter
    from dialogue_warehouse.exporting.writing import export_published
    from dialogue_warehouse.storage import ownership

    ownership.refuse_owned(to)
    settings = Settings.from_environment(warehouse=warehouse, log_format=options.pop("log_format"))
    exported = export_published(
        warehouse_paths(settings),
        settings,
        selection,
        _options_of(form, options),
        absolute(to),
        Reporter(quiet),
        overwrites,
    )
    examples = sum(one.counts["examples"] for one in exported if not one.is_copy)
    if not quiet:
        click.echo(f"{counted(examples, 'example')} in {counted(len(exported), 'file')} below {to}")


def _options_of(form: str, options: dict[str, Any]) -> Any:
    """Return the options of a form. Raises a usage error for an option that the form does not have."""
    from dialogue_warehouse.exporting.chat import ChatOptions
    from dialogue_warehouse.exporting.huggingface import HuggingFaceOptions
    from dialogue_warehouse.exporting.preference import PreferenceOptions

    if form != "preference":
        return (HuggingFaceOptions if form == "huggingface" else ChatOptions)(**options)
    context = click.get_current_context()
    for name in OF_CHAT:
        if context.get_parameter_source(name) is not ParameterSource.DEFAULT:
            raise click.UsageError(f"--{name} is an option of the forms chat and huggingface, not of preference")
    return PreferenceOptions(max_characters=options["max_characters"])
