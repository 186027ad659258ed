"""Dagster's entry point: `dagster dev -m pipelines.definitions`. The graph is in `pipelines.dagster_graph.graph`.

For the concept see https://docs.dagster.io/guides/build/projects-and-components/projects/creating-a-new-project
"""

from __future__ import annotations

import dagster as dg

from dialogue_warehouse.errors import CheckError, InputError
from dialogue_warehouse.settings import Settings
from pipelines.dagster_graph.graph import assemble, refuse_part, refuse_settings, tell_unloaded


@dg.definitions
def definitions() -> dg.Definitions:
    """Return the graph for the settings of the environment."""
    try:
        return refuse_part(assemble(Settings.from_environment()))
    except InputError as error:
        tell_unloaded(error)
        raise refuse_settings(error) from error
    except CheckError as error:
        tell_unloaded(error)
        raise
