"""Of what dbt tells, only what somebody listens to is made, and a warning or an error comes whole."""

from __future__ import annotations

import contextlib
from pathlib import Path
from typing import Any

import pytest
from dbt.adapters.duckdb.connections import DuckDBConnectionManager
from dbt.cli.main import dbtRunner
from dbt_common.events.base_types import BaseEvent, EventLevel
from dbt_common.events.event_manager import EventManager
from dbt_common.events.functions import fire_event
from dbt_common.events.types import Note

from pipelines.building import dbt, dbt_places, quiet_events
from pipelines.paths import DBT_PROJECT, WarehousePaths
from pipelines.settings import Settings

MODEL = "dim_agents"


def names_told(folder: Path, listening: contextlib.AbstractContextManager[None]) -> list[str]:
    """The events that dbt tells of as it compiles a model and what it is made of."""
    paths = WarehousePaths(folder)
    manifest = dbt.parse(paths)
    profiles = dbt_places.write_profile(paths.scratch, Settings())
    places = ["--project-dir", DBT_PROJECT, "--profiles-dir", profiles, "--target-path", paths.dbt_target]
    told: list[str] = []

    def hear(event: Any) -> None:
        told.append(event.info.name)
        assert event.info.name != "NodeFinished" or event.data.node_info.node_name

    with listening:
        silent = ["--quiet", "--log-level", "none", "--log-level-file", "none", "compile", "--no-write-json"]
        try:
            compiled = dbtRunner(manifest=manifest, callbacks=[hear]).invoke(
                [*silent, "--select", f"+{MODEL}", *map(str, places)]
            )
        finally:
            DuckDBConnectionManager.close_all_connections()
    assert compiled.success, compiled.exception
    return told


def test_only_what_is_heard_is_told(tmp_path: Path) -> None:
    all_told = names_told(tmp_path, contextlib.nullcontext())
    assert {"NodeStart", "NodeCompiling", "NodeFinished"} <= set(all_told)  # what is to be left out is there
    told = names_told(tmp_path, quiet_events.without_the_unheard())
    assert set(told) == quiet_events.HEARD
    assert told.count("NodeFinished") == all_told.count("NodeFinished") > 1


def fired(event: BaseEvent, level: EventLevel | None) -> list[tuple[str, str]]:
    """Level and text of what is told of an event."""
    told: list[tuple[str, str]] = []
    manager = EventManager()
    manager.add_callback(lambda message: told.append((message.info.level, message.data.msg)))
    manager.fire_event(event, level=level)
    return told


@pytest.mark.parametrize("level", [EventLevel.WARN, EventLevel.ERROR])
def test_warning_and_error_are_told_whole(level: EventLevel) -> None:
    with quiet_events.without_the_unheard():
        assert fired(Note(msg="what is wrong"), level) == [(level.value, "what is wrong")]
        assert fired(Note(msg="what is going on"), EventLevel.DEBUG) == []


def test_dbt_is_itself_again_afterwards() -> None:
    make, fire = BaseEvent.__init__, EventManager.fire_event
    with pytest.raises(RuntimeError), quiet_events.without_the_unheard():
        fire_event(Note(msg="not told"))
        assert BaseEvent.__init__ is not make
        raise RuntimeError
    assert (BaseEvent.__init__, EventManager.fire_event) == (make, fire)
    assert fired(Note(msg="told again"), EventLevel.DEBUG) == [("debug", "told again")]
