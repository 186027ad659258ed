"""Jobs: the selections of the graph that are run as one.

For the concept see https://docs.dagster.io/guides/build/jobs
"""

from __future__ import annotations

import dagster as dg

BUILD = "build"


def build_job() -> dg.UnresolvedAssetJobDefinition:
    """Everything, from the raw files to the published warehouse and the report about it."""
    return dg.define_asset_job(
        BUILD,
        selection=dg.AssetSelection.all(),
        description="Land, model, audit and publish the warehouse.",
        executor_def=dg.in_process_executor,
    )
