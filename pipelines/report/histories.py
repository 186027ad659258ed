"""Each expectation with its results in the last builds, and what it says, in words."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Mapping
from typing import Any

from pipelines.corpora.declarations import DeclarationError
from pipelines.corpora.suites import Expectation, load_suites
from pipelines.reading.keyed_rows import Row


def join_suites(results: list[Row], builds: list[str]) -> dict[str, list[Row]]:
    """By suite: each expectation with its last result and, by build from the oldest, whether it held."""
    declared = _declared()
    histories: dict[tuple[str, str], dict[str, Row]] = defaultdict(dict)
    for result in results:
        histories[result["suite"], result["expectation"]][result["build_id"]] = result
    suites: dict[str, list[Row]] = defaultdict(list)
    for (suite, name), history in histories.items():
        newest = next(history[build_id] for build_id in builds if build_id in history)
        expectation = declared.get((suite, name))
        suites[suite].append(
            newest
            | {
                "is_current": builds[0] in history,
                "history": [history.get(build_id) for build_id in reversed(builds)],
                "type": expectation and expectation.type,
                "why": expectation and expectation.why,
                "arguments": describe_arguments(expectation.kwargs) if expectation else [],
                "query": expectation and expectation.kwargs.get("query"),
            }
        )
    return dict(suites)


def _declared() -> Mapping[tuple[str, str], Expectation]:
    try:
        suites = load_suites()
    except DeclarationError:  # a room that is being edited must not take the report of a published build away
        return {}
    return {(suite.name, entry.expectation_id): entry for suite in suites for entry in suite.expectations}


def describe_arguments(kwargs: Mapping[str, Any]) -> list[tuple[str, str]]:
    """The arguments of an expectation in words; its query is shown on its own."""
    told = []
    for name, value in kwargs.items():
        if name == "row_condition":
            told.append(("only rows where", _condition(value)))
        elif name != "query":
            told.append((name.replace("_", " "), _value(value)))
    return told


def _condition(condition: Mapping[str, Any]) -> str:
    if condition["type"] == "and":
        return " and ".join(_condition(part) for part in condition["conditions"])
    operator = {"==": "is", "IN": "is one of"}.get(condition["operator"], condition["operator"])
    return f"{condition['column']['name']} {operator} {_value(condition['parameter'])}"


def _value(value: Any) -> str:
    match value:
        case {"$PARAMETER": name}:
            return f"the build's {str(name).replace('_', ' ')}"
        case list() if not any(isinstance(element, list | dict) for element in value):
            return ", ".join(map(str, value))
        case list() | dict():
            return json.dumps(value, ensure_ascii=False)
        case _:
            return str(value)
