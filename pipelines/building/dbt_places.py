"""Where a build's files lie, as dbt is told: filled into the project's profile and sources, after it was parsed.

Parsed with the project's own relative places, what dbt keeps of its parse serves every warehouse of the clone; a parse
from nothing takes five seconds.
"""

from __future__ import annotations

import contextlib
import json
from collections.abc import Generator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pipelines.cluster import server
from pipelines.cluster.options import is_server
from pipelines.paths import DBT_PROJECT
from pipelines.settings import Settings

if TYPE_CHECKING:
    from dbt.contracts.graph.manifest import Manifest

LOCATION = "external_location"
"""What dbt-duckdb calls the files that a source is read from."""
READ = "read_parquet('"
"""What a location in the project's sources begins with; the path after it is relative to the scratch folder."""


def write_profile(scratch: Path, settings: Settings) -> Path:
    """Write the project's profile with this warehouse's places and settings; the folder to give to dbt."""
    import yaml

    profile = yaml.safe_load((DBT_PROJECT / "profiles.yml").read_text(encoding="utf-8"))
    outputs = profile["dialogue_warehouse"]["outputs"]
    _fill_spark(outputs["spark"], settings)
    output = outputs["duckdb"]
    output["path"] = str(scratch / output["path"])
    output["threads"] = settings.threads
    options = output["config_options"]
    options |= {"memory_limit": settings.memory_limit, "threads": settings.threads}
    options["temp_directory"] = str(scratch / options["temp_directory"])
    for attached in output["attach"]:
        attached["path"] = str(scratch / attached["path"])
    folder = scratch / "dbt_profile"
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "profiles.yml").write_text(json.dumps(profile, indent=1), encoding="utf-8")
    return folder


def _fill_spark(output: dict[str, Any], settings: Settings) -> None:
    """Say which Spark, and how many models it makes side by side."""
    output["threads"] = settings.threads
    if is_server(settings.spark_master):
        host, port, user = server.address(settings.spark_master)
        output |= {"method": "thrift", "host": host, "port": port} | ({"user": user} if user else {})


@contextlib.contextmanager
def sources_below(manifest: Manifest, scratch: Path) -> Generator[None]:
    """Let every source of the manifest be read from below the scratch folder, as long as the context lasts."""
    told = [
        (places, location)
        for source in manifest.sources.values()
        for places in (source.meta, source.config.extra if source.config else {})
        if (location := places.get(LOCATION, "")).startswith(READ)
    ]
    try:
        for places, location in told:
            places[LOCATION] = f"{READ}{scratch}/{location.removeprefix(READ)}"
        yield
    finally:
        for places, location in told:
            places[LOCATION] = location
