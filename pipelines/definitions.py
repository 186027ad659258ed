"""Dagster's front door: `dagster dev -m pipelines.definitions`. Assembles the graph and holds no logic.

For the concept see https://docs.dagster.io/guides/build/projects-and-components/projects/creating-a-new-project
"""

from __future__ import annotations

import dagster as dg

from pipelines import modelling, registry
from pipelines.assets import audit, models, published, raw, restoration
from pipelines.jobs import build_job
from pipelines.resources import default_resources
from pipelines.settings import Settings


def assemble(settings: Settings) -> dg.Definitions:
    """The whole graph for these settings. Parses the dbt project, partially where nothing changed."""
    paths = modelling.prepare_environment(settings)
    corpora = registry.load_corpora()
    model_assets, audit_models = models.model_assets(paths, modelling.parse(paths))
    audit_asset = audit.audit_asset(list(model_assets.keys))
    return dg.Definitions(
        assets=[
            *(raw.release_spec(corpus) for corpus in corpora),
            *(raw.raw_asset(corpus) for corpus in corpora),
            raw.catalog_asset(corpora),
            model_assets,
            audit_asset,
            restoration.restoration_asset(list(model_assets.keys)),
            audit_models,
            published.published_asset(list(audit_models.keys)),
            published.report_asset(),
        ],
        jobs=[build_job()],
        resources=default_resources(),
        executor=dg.in_process_executor,
    )


@dg.definitions
def definitions() -> dg.Definitions:
    """The graph for the settings of the environment."""
    return assemble(Settings.from_environment())
