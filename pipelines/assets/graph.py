"""The whole graph: every asset, the job that builds everything, and the resources they need.

Assembles and holds no logic of its own. For the concept see
https://docs.dagster.io/guides/build/projects-and-components/projects/creating-a-new-project
"""

from __future__ import annotations

import dagster as dg

from pipelines.assets import audit, changes, models, published, raw, restoration
from pipelines.building import dbt
from pipelines.corpora import registry
from pipelines.intake import ownership
from pipelines.jobs import EVERYTHING, build_jobs
from pipelines.paths import WarehousePaths
from pipelines.resources import default_resources
from pipelines.schedules import build_schedules
from pipelines.sensors import build_sensors
from pipelines.settings import Settings


def assemble(settings: Settings) -> dg.Definitions:
    """The whole graph for these settings. Parses the dbt project, partially where nothing changed.

    Raises InputError for a folder that cannot be a warehouse.
    """
    paths = WarehousePaths(settings.warehouse)
    ownership.claim(paths)
    corpora = registry.load_corpora()
    model_assets, audit_models = models.model_assets(dbt.parse_and_write(paths))
    audit_asset = audit.audit_asset(list(model_assets.keys))
    return dg.Definitions(
        assets=[
            *(raw.release_spec(corpus, settings) for corpus in corpora),
            *(raw.raw_asset(corpus) for corpus in corpora),
            raw.catalog_asset(corpora),
            model_assets,
            audit_asset,
            restoration.restoration_asset([*model_assets.keys, *audit_asset.keys]),
            changes.changes_asset([*model_assets.keys, *audit_asset.keys]),
            audit_models,
            published.published_asset(list(audit_models.keys), settings),
            published.report_asset(),
        ],
        jobs=build_jobs(corpora),
        schedules=build_schedules(settings),
        sensors=build_sensors(),
        resources=default_resources(),
        executor=dg.in_process_executor,
    )


def load_graph(settings: Settings) -> dg.JobDefinition:
    """The job that builds everything for these settings."""
    return assemble(settings).resolve_job_def(EVERYTHING)
