"""The asset graph: its assets, the job that builds everything, and the resource they need. It only assembles.

For the concept see https://docs.dagster.io/guides/build/projects-and-components/projects/creating-a-new-project
"""

from __future__ import annotations

import contextlib
from typing import NamedTuple

import click
import dagster as dg

from dialogue_warehouse.corpora import registry
from dialogue_warehouse.errors import InputError, first_line
from dialogue_warehouse.paths import WarehousePaths
from dialogue_warehouse.settings import Settings
from dialogue_warehouse.storage import ownership
from pipelines.building import alerts, dbt
from pipelines.building.state import PART_REFUSED
from pipelines.dagster_graph import audit, models, published, raw
from pipelines.dagster_graph.jobs import build_jobs, build_schedules
from pipelines.dagster_graph.published import REPORT
from pipelines.dagster_graph.resources import session_resource
from pipelines.dagster_graph.sensors import build_sensors

SELECTING = {"launch": "assets", "materialize": "select"}
"""The commands of `dg` and `dagster` that run a selection of assets, and the option that names it."""


class SelectionError(click.ClickException):
    """The selected part cannot be run alone, or the settings cannot be used.

    It is not a UsageError, because the command would print its usage before that.
    """

    exit_code = 2


def refuse_settings(error: InputError) -> Exception:
    """Return the error to raise for settings that cannot be used: one line, where a command loads the definitions."""
    return error if _is_server() else SelectionError(str(error))


def _is_server() -> bool:
    """Return whether webserver or daemon load the definitions, and not a command of a user."""
    context = click.get_current_context(silent=True)
    return context is None or context.command.name == "grpc"


def tell_unloaded(error: Exception) -> None:
    """Send an alert that webserver or daemon cannot load the graph: until they can, no sensor sends one."""
    if _is_server():
        with contextlib.suppress(InputError):  # settings that cannot be used name no recipient either
            settings = Settings.from_environment()
            alerts.tell_failure(WarehousePaths(settings.warehouse), settings, str(error))


def refuse_part(definitions: dg.Definitions) -> dg.Definitions:
    """Return the definitions. Raises SelectionError for a command that selects a part which cannot be run alone."""
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
    """Return the selection of the command that loads these definitions; None where it selects nothing."""
    context = click.get_current_context(silent=True)
    option = context and SELECTING.get(context.command.name or "")
    return context.params.get(option) if context and option else None


class Graph(NamedTuple):
    """All assets of the warehouse."""

    external: list[dg.AssetSpec]
    """Assets that others make: the releases, and the last check of the source."""
    warehouse: list[dg.AssetsDefinition]
    """Everything up to the published warehouse."""
    report: dg.AssetsDefinition
    """The report about it."""


def load_graph(settings: Settings) -> Graph:
    """Return the assets for these settings. Parses the dbt project, partially where nothing changed.

    Raises InputError for a folder that cannot be a warehouse.
    """
    paths = WarehousePaths(settings.warehouse)
    ownership.claim(paths)
    corpora = registry.load_corpora()
    model_assets, audit_models = models.model_assets(dbt.parse_and_write(paths))
    audit_asset = audit.audit_asset(list(model_assets.keys))
    warehouse = [
        *(raw.raw_asset(corpus) for corpus in corpora),
        raw.catalog_asset(corpora),
        model_assets,
        audit_asset,
        audit.restoration_asset([*model_assets.keys, *audit_asset.keys]),
        published.changes_asset([*model_assets.keys, *audit_asset.keys]),
        audit_models,
        published.published_asset(list(audit_models.keys)),
    ]
    external = [*(raw.release_spec(corpus, settings) for corpus in corpora), published.checked_spec(settings)]
    return Graph(external, warehouse, published.report_asset())


def assemble(settings: Settings) -> dg.Definitions:
    """Return the graph with its jobs, schedules, sensors and resources. Raises InputError, as `load_graph` does."""
    graph = load_graph(settings)
    jobs = build_jobs(registry.load_corpora())
    return dg.Definitions(
        assets=[*graph.external, *graph.warehouse, graph.report],
        jobs=jobs,
        schedules=build_schedules(settings),
        sensors=build_sensors(jobs),
        resources={"session": session_resource(graph.warehouse, graph.report)},
        executor=dg.in_process_executor,
    )
