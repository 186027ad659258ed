"""Of what dbt makes only what somebody reads is made, and a warning or an error comes whole."""

from __future__ import annotations

import contextlib
import inspect
from pathlib import Path
from typing import Any

import pytest
from dbt.contracts.graph.nodes import ParsedNode
from dbt_common import behavior_flags
from dbt_common.events.base_types import BaseEvent, EventLevel
from dbt_common.events.event_manager import EventManager
from dbt_common.events.functions import fire_event
from dbt_common.events.types import Note

from dialogue_warehouse.paths import WarehousePaths
from pipelines.building import dbt, dbt_changes
from tests.dbt_runs import run_dbt

MODEL = "dim_agents"


def names_told(folder: Path, listening: contextlib.AbstractContextManager[None]) -> list[str]:
    """The events that dbt tells of as it compiles a model and what it is made of."""
    paths = WarehousePaths(folder)
    manifest = dbt.parse(paths)
    told: list[str] = []

    def hear(event: Any) -> None:
        told.append(event.info.name)
        assert event.info.name != "NodeFinished" or event.data.node_info.node_name

    with listening:
        run_dbt(manifest, paths, "compile", "--select", f"+{MODEL}", callbacks=[hear])
    return told


def test_only_what_is_heard_is_told(tmp_path: Path) -> None:
    all_told = names_told(tmp_path, contextlib.nullcontext())
    assert {"NodeStart", "NodeCompiling", "NodeFinished"} <= set(all_told)  # what is to be left out is there
    told = names_told(tmp_path, dbt_changes.without_the_unread())
    assert set(told) == dbt_changes.HEARD
    assert told.count("NodeFinished") == all_told.count("NodeFinished") > 1


def test_no_file_is_written_of_a_query(tmp_path: Path) -> None:
    """Those of a build that fails are: tests/integration/test_conformed_models.py reads them."""
    written = {}
    for name, listening in (("by dbt", contextlib.nullcontext()), ("here", dbt_changes.without_the_unread())):
        names_told(tmp_path / name, listening)
        written[name] = list((tmp_path / name).rglob("compiled/**/*.sql"))
    assert len(written["by dbt"]) > 1
    assert written["here"] == []


def test_table_of_a_statement_without_rows_is_made_once() -> None:
    from dbt_common.clients import agate_helper

    by_dbt = agate_helper.empty_table()
    with dbt_changes.without_the_unread():
        one = agate_helper.empty_table()
        assert one is agate_helper.empty_table()
    assert (one.column_names, len(one.rows)) == (by_dbt.column_names, 0)
    assert agate_helper.empty_table() is not one


def test_nobody_looks_for_the_module_that_a_switch_comes_from(monkeypatch: pytest.MonkeyPatch) -> None:
    def source_of_a_switch() -> str:
        switch = behavior_flags.BehaviorFlagRendered(
            {"name": "new", "default": False, "docs_url": "https://docs.example"}, {}
        )
        return switch._behavior_change_event["flag_source"]

    monkeypatch.setattr(behavior_flags, "BehaviorChangeEvent", dict)
    assert source_of_a_switch() == __name__
    monkeypatch.setattr(inspect, "stack", lambda: pytest.fail("somebody looks"))
    with dbt_changes.without_the_unread():
        assert source_of_a_switch() == "dbt"


def fired(event: BaseEvent, level: EventLevel | None) -> list[tuple[str, str]]:
    """Level and text of what is told of an event."""
    told: list[tuple[str, str]] = []
    manager = EventManager()
    manager.add_callback(lambda message: told.append((message.info.level, message.data.msg)))
    manager.fire_event(event, level=level)
    return told


@pytest.mark.parametrize("level", [EventLevel.WARN, EventLevel.ERROR])
def test_warning_and_error_are_told_whole(level: EventLevel) -> None:
    with dbt_changes.without_the_unread():
        assert fired(Note(msg="what is wrong"), level) == [(level.value, "what is wrong")]
        assert fired(Note(msg="what is going on"), EventLevel.DEBUG) == []


def test_dbt_is_itself_again_afterwards() -> None:
    make, fire, write = BaseEvent.__init__, EventManager.fire_event, ParsedNode.write_node
    with pytest.raises(RuntimeError), dbt_changes.without_the_unread():
        fire_event(Note(msg="not told"))
        assert BaseEvent.__init__ is not make
        assert ParsedNode.write_node is not write
        raise RuntimeError
    assert (BaseEvent.__init__, EventManager.fire_event, ParsedNode.write_node) == (make, fire, write)
    assert fired(Note(msg="told again"), EventLevel.DEBUG) == [("debug", "told again")]
