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
    from dialogue_warehouse.api.warehouse import Warehouse
    from dialogue_warehouse.api.warehouse import open_warehouse as open  # noqa: A004 the name that users expect
    from dialogue_warehouse.common.database import QueryError
    from dialogue_warehouse.errors import CheckError, Error, InputError
    from dialogue_warehouse.reading.catalogue import ColumnDescription, Filling, TableDescription, TableSummary
    from dialogue_warehouse.reading.findings import TraceError

_PLACES = {
    "open": ("dialogue_warehouse.api.warehouse", "open_warehouse"),
    "Warehouse": ("dialogue_warehouse.api.warehouse", "Warehouse"),
    "Error": ("dialogue_warehouse.errors", "Error"),
    "InputError": ("dialogue_warehouse.errors", "InputError"),
    "CheckError": ("dialogue_warehouse.errors", "CheckError"),
    "QueryError": ("dialogue_warehouse.common.database", "QueryError"),
    "TraceError": ("dialogue_warehouse.reading.findings", "TraceError"),
    "TableSummary": ("dialogue_warehouse.reading.catalogue", "TableSummary"),
    "TableDescription": ("dialogue_warehouse.reading.catalogue", "TableDescription"),
    "ColumnDescription": ("dialogue_warehouse.reading.catalogue", "ColumnDescription"),
    "Filling": ("dialogue_warehouse.reading.catalogue", "Filling"),
}
"""Module and name of each public name. They are imported at their first use, so that this module is quick to import."""

__all__ = [
    "CheckError",
    "ColumnDescription",
    "Error",
    "Filling",
    "InputError",
    "QueryError",
    "TableDescription",
    "TableSummary",
    "TraceError",
    "Warehouse",
    "open",
]


def __getattr__(name: str) -> object:
    """Import a public name at its first use."""
    if name not in _PLACES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    module, own = _PLACES[name]
    found = getattr(importlib.import_module(module), own)
    globals()[name] = found
    return found


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
