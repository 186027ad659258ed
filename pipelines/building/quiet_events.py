"""Letting dbt tell only what somebody listens to.

Of each of a dozen events a node, such as the text of a query, dbt makes two protobuf messages by way of dictionaries.
Its log is off here, and the progress display waits for `NodeFinished` alone: without the others the models of the
sample take 5.7 s for 6.2 (medians of four, in turns on a quiet machine).

It replaces two methods that dbt does not publish, for as long as dbt runs here. Warnings and errors are told as ever;
tests/integration/test_quiet_events.py fails when dbt's events no longer come this way.
"""

from __future__ import annotations

import contextlib
from collections.abc import Generator
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from dbt_common.events.base_types import BaseEvent, EventLevel

HEARD = frozenset({"NodeFinished"})
"""The events that are told although they are no warning."""


@contextlib.contextmanager
def without_the_unheard() -> Generator[None]:
    """Let dbt make only the messages that are told, as long as the context lasts."""
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
