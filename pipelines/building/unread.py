"""Letting dbt make only what somebody reads.

Of each of a dozen events a node, such as the text of a query, dbt makes two protobuf messages by way of dictionaries;
it writes each query into two files, gives each statement that returns no rows an empty table of agate's, and looks
through all modules for the one that a switch of its behavior comes from. Its log is off here, the progress display
waits for `NodeFinished` alone, and queries are read where something has failed, for which `dbt` writes them. Without
the messages the models of the sample take 5.7 s for 6.2 (medians of four, in turns on a quiet machine), without files
and tables 4.4 s of both cores for 5.0 (of four, on a busy one).

It replaces what dbt does not publish, for as long as dbt runs here. Warnings and errors are told as ever;
tests/integration/test_unread.py fails when dbt no longer does these things this way.
"""

from __future__ import annotations

import contextlib
import inspect
from collections.abc import Generator
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from dbt_common.events.base_types import BaseEvent, EventLevel

HEARD = frozenset({"NodeFinished"})
"""The events that are told although they are no warning."""


@contextlib.contextmanager
def without_the_unread() -> Generator[None]:
    """Let dbt make only the messages that are told, and no files and tables, as long as the context lasts.

    A switch of dbt's behavior is said to come from "dbt", whichever module it comes from.
    """
    from dbt.contracts.graph.nodes import ParsedNode
    from dbt_common.behavior_flags import BehaviorFlagRendered
    from dbt_common.clients import agate_helper

    table = agate_helper.empty_table()  # nobody changes one: it serves all
    with (
        _without_the_unheard(),
        _replaced(ParsedNode, "write_node", lambda *_: None),
        _replaced(agate_helper, "empty_table", lambda: table),
        _replaced(BehaviorFlagRendered, "_default_source", staticmethod(lambda: "dbt")),
    ):
        yield


@contextlib.contextmanager
def _replaced(owner: object, name: str, by: object) -> Generator[None]:
    """Let a function or a method be another one, as long as the context lasts."""
    of_dbt = inspect.getattr_static(owner, name)
    setattr(owner, name, by)
    try:
        yield
    finally:
        setattr(owner, name, of_dbt)


@contextlib.contextmanager
def _without_the_unheard() -> Generator[None]:
    from dbt_common.events.base_types import BaseEvent
    from dbt_common.events.event_manager import EventManager

    make, fire = BaseEvent.__init__, EventManager.fire_event

    def make_later(event: BaseEvent, *arguments: Any, **fields: Any) -> None:
        if type(event).__name__ in HEARD:
            make(event, *arguments, **fields)
        else:
            event.__dict__["made_of"] = (arguments, fields)

    def fire_heard(
        manager: EventManager, e: BaseEvent, level: EventLevel | None = None, *more: Any, **named: Any
    ) -> None:
        made_of = e.__dict__.pop("made_of", None)
        if made_of is None or (level or e.level_tag()).value in ("warn", "error"):
            if made_of is not None:
                make(e, *made_of[0], **made_of[1])
            fire(manager, e, level, *more, **named)

    BaseEvent.__init__, EventManager.fire_event = make_later, fire_heard
    try:
        yield
    finally:
        BaseEvent.__init__, EventManager.fire_event = make, fire
