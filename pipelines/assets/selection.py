"""What Dagster's command line may run: everything, or the report about what is published.

`dg launch --assets` would begin with any part of the graph and end in a traceback. It loads the definitions in its own
process, so that they can see what it was asked for, and refuse in the way of any command: one line, exit status 2.
The page refuses by itself: an asset that cannot be divided is offered with all that belongs to it.
"""

import click
import dagster as dg

from pipelines.assets.published import REPORT
from pipelines.building.state import PART_REFUSED
from pipelines.errors import InputError, first_line

SELECTING = {"launch": "assets", "materialize": "select"}
"""The commands of `dg` and `dagster` that run a selection of assets, and the option that names it."""


class SelectionError(click.ClickException):
    """What was selected cannot be run alone, or the settings cannot be used.

    No UsageError, which the command would explain itself before.
    """

    exit_code = 2


def refuse_settings(error: InputError) -> Exception:
    """Give what loading the definitions raises for settings that cannot be used: a line, where a command loads them."""
    context = click.get_current_context(silent=True)
    is_server = context is None or context.command.name == "grpc"
    return error if is_server else SelectionError(str(error))


def refuse_part(definitions: dg.Definitions) -> dg.Definitions:
    """The definitions. Raises SelectionError for a command that is to run a part of them which cannot be run alone."""
    selected = _selected()
    if selected is None:
        return definitions
    graph = definitions.resolve_asset_graph()
    try:
        keys = dg.AssetSelection.from_coercible(selected.split(",")).resolve(graph)
    except dg.DagsterError as error:
        raise SelectionError(first_line(error)) from error
    everything = graph.materializable_asset_keys
    if keys & everything not in (everything, everything - {REPORT}, {REPORT}):
        raise SelectionError(PART_REFUSED)
    return definitions


def _selected() -> str | None:
    """What the command that loads these definitions selects; None where it selects nothing, or is another one."""
    context = click.get_current_context(silent=True)
    option = context and SELECTING.get(context.command.name or "")
    return context.params.get(option) if context and option else None
