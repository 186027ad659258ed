"""The library that reads a published warehouse: the command line, pages, dialogues, lineage, and a Python API.

    import dialogue_warehouse as dw

    with dw.open("warehouse") as warehouse:
        print(warehouse.sql("select corpus_id, count(*) as turns from fct_turns group by all"))

docs/python.md describes the API. The names that `__all__` lists are public; all other modules may change at any time.

`pipelines` builds a warehouse and `expectations` audits it. Both import this package. It imports neither, except in the
commands of `cli` that build. It works without Dagster, dbt, Great Expectations, pyarrow and pandas.

What belongs here: code that reads, shows or returns published data, and code that reading and building share. What does
not: code that only a build needs.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from dialogue_warehouse.api.dialogues import Dialogue, Dialogues
    from dialogue_warehouse.api.opening import open  # noqa: A004 the name that users expect
    from dialogue_warehouse.api.scores import Notice, Score, Scores, SlotScore
    from dialogue_warehouse.api.tables import TableDescription, Tables
    from dialogue_warehouse.api.warehouse import Warehouse
    from dialogue_warehouse.common.database import QueryError
    from dialogue_warehouse.errors import CheckError, DownloadError, Error, InputError
    from dialogue_warehouse.exporting.writing import Exported
    from dialogue_warehouse.reading.catalogue import ColumnDescription, Filling, TableSummary
    from dialogue_warehouse.reading.descriptions import Join, Links
    from dialogue_warehouse.reading.dialogue_parts import (
        Act,
        Annotation,
        Answer,
        Attribute,
        Call,
        CallResult,
        Candidate,
        Candidates,
        Guideline,
        Item,
        KnowledgeBase,
        Mark,
        Participant,
        Scenario,
        ScenarioValue,
        Selection,
        Service,
        Source,
        Span,
        State,
        StateSlot,
        Step,
        Turn,
        Violation,
    )
    from dialogue_warehouse.reading.findings import TraceError

_NAMES = {
    "dialogue_warehouse.api.dialogues": ("Dialogue", "Dialogues"),
    "dialogue_warehouse.api.opening": ("open",),
    "dialogue_warehouse.api.scores": ("Notice", "Score", "Scores", "SlotScore"),
    "dialogue_warehouse.api.tables": ("TableDescription", "Tables"),
    "dialogue_warehouse.api.warehouse": ("Warehouse",),
    "dialogue_warehouse.common.database": ("QueryError",),
    "dialogue_warehouse.errors": ("CheckError", "DownloadError", "Error", "InputError"),
    "dialogue_warehouse.exporting.writing": ("Exported",),
    "dialogue_warehouse.reading.catalogue": ("ColumnDescription", "Filling", "TableSummary"),
    "dialogue_warehouse.reading.dialogue_parts": (
        "Act",
        "Annotation",
        "Answer",
        "Attribute",
        "Call",
        "CallResult",
        "Candidate",
        "Candidates",
        "Guideline",
        "Item",
        "KnowledgeBase",
        "Mark",
        "Participant",
        "Scenario",
        "ScenarioValue",
        "Selection",
        "Service",
        "Source",
        "Span",
        "State",
        "StateSlot",
        "Step",
        "Turn",
        "Violation",
    ),
    "dialogue_warehouse.reading.descriptions": ("Join", "Links"),
    "dialogue_warehouse.reading.findings": ("TraceError",),
}
"""The public names of each module. They are imported at their first use, so that this module is quick to import."""

__all__ = [
    "Act",
    "Annotation",
    "Answer",
    "Attribute",
    "Call",
    "CallResult",
    "Candidate",
    "Candidates",
    "CheckError",
    "ColumnDescription",
    "Dialogue",
    "Dialogues",
    "DownloadError",
    "Error",
    "Exported",
    "Filling",
    "Guideline",
    "InputError",
    "Item",
    "Join",
    "KnowledgeBase",
    "Links",
    "Mark",
    "Notice",
    "Participant",
    "QueryError",
    "Scenario",
    "ScenarioValue",
    "Score",
    "Scores",
    "Selection",
    "Service",
    "SlotScore",
    "Source",
    "Span",
    "State",
    "StateSlot",
    "Step",
    "TableDescription",
    "TableSummary",
    "Tables",
    "TraceError",
    "Turn",
    "Violation",
    "Warehouse",
    "open",
]


def __getattr__(name: str) -> object:
    """Import a public name at its first use."""
    module = next((module for module, names in _NAMES.items() if name in names), None)
    if module is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    found = getattr(importlib.import_module(module), name)
    globals()[name] = found
    return found


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
