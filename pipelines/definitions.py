"""Dagster's front door: `dagster dev -m pipelines.definitions`. Holds no logic; the graph is `pipelines.assets.graph`.

For the concept see https://docs.dagster.io/guides/build/projects-and-components/projects/creating-a-new-project
"""

from __future__ import annotations

import dagster as dg

from pipelines.assets.graph import assemble
from pipelines.assets.selection import refuse_part, refuse_settings
from pipelines.errors import InputError
from pipelines.settings import Settings


@dg.definitions
def definitions() -> dg.Definitions:
    """The graph for the settings of the environment."""
    try:
        return refuse_part(assemble(Settings.from_environment()))
    except InputError as error:
        raise refuse_settings(error) from error
