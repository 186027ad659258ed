"""What the dbt project declares of the published tables: descriptions, keys, and how they are joined."""

from __future__ import annotations

import re
from collections import defaultdict
from dataclasses import dataclass
from functools import cache
from typing import Any

import yaml

from pipelines.paths import DBT_PROJECT

SCHEMAS = ("core", "analytics", "quality")
_Loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
"""The safe loader, in C where PyYAML has it."""


@dataclass(frozen=True)
class Join:
    """Columns of a table that are those of one row of another."""

    columns: tuple[str, ...]
    to: str
    """The other one, with its schema."""
    fields: tuple[str, ...]
    """The columns there, in the same order."""

    def __str__(self) -> str:
        pairs = zip(self.columns, self.fields, strict=True)
        return f"{self.to} on {', '.join(own if own == other else f'{own} = {other}' for own, other in pairs)}"


@dataclass(frozen=True)
class Links:
    """How a table is joined with others."""

    key: tuple[str, ...]
    """The columns that are its key, together; those of its first one where it has several."""
    joins: tuple[Join, ...] = ()
    """The rows of others that its own belong to, the nearest first."""
    joined_by: tuple[str, ...] = ()
    """The tables whose rows belong to its own."""


@cache
def models() -> dict[str, dict[str, Any]]:
    """The description of each published table, by its name with its schema, as dbt's YAML has it."""
    found = {}
    for schema in SCHEMAS:
        for path in sorted((DBT_PROJECT / "models" / "marts" / schema).glob("*.yml")):
            file = yaml.load(path.read_text(encoding="utf-8"), Loader=_Loader)  # noqa: S506
            found |= {f"{schema}.{model['name']}": model for model in file.get("models", [])}
    return found


@cache
def definitions() -> dict[str, str]:
    """The one definition of each column name."""
    text = (DBT_PROJECT / "models" / "columns.md").read_text(encoding="utf-8")
    return dict(re.findall(r"{% docs (\w+) %}\n(.*?)\n{% enddocs %}", text, flags=re.DOTALL))


@cache
def links() -> dict[str, Links]:
    """The key and the joins of each published table: the references that dbt tests, and what bears the name of a key.

    A column that is alone the key of a table of `core` or `quality` says in every other one which row there is meant.
    What a model's `meta` lists as `joins` may find no row, and is not tested to.
    """
    tests = {name: _sound_rows(model) for name, model in models().items()}
    by_name = {name.partition(".")[2]: name for name in tests}
    declared = {
        name: [
            _reference(name, reference, by_name)
            for reference in [
                *test.get("references", []),
                *models()[name].get("config", {}).get("meta", {}).get("joins", []),
            ]
        ]
        for name, test in tests.items()
    }
    keys = {name: _columns(test["keys"][0]) for name, test in tests.items() if test}
    owners: dict[str, str] = {}
    for name, key in keys.items():
        is_own = key not in {join.columns for join in declared[name]}
        if len(key) == 1 and is_own and not name.startswith("analytics."):
            owners.setdefault(key[0], name)
    joins: dict[str, tuple[Join, ...]] = {}
    for name, model in models().items():
        known = {column for join in declared[name] for column in join.columns if len(join.columns) == 1}
        of_names = [
            Join((column["name"],), owners[column["name"]], (column["name"],))
            for column in model["columns"]
            if column["name"] not in known and owners.get(column["name"], name) != name
        ]
        joins[name] = (*declared[name], *of_names)
    joined_by: dict[str, list[str]] = defaultdict(list)
    for name, own in joins.items():
        for other in dict.fromkeys(join.to for join in own):
            joined_by[other].append(name)
    return {name: Links(keys.get(name, ()), joins[name], tuple(joined_by[name])) for name in joins}


def _sound_rows(model: dict[str, Any]) -> dict[str, Any]:
    """The arguments of the table's test of this name."""
    for test in model.get("data_tests", []):
        if "sound_rows" in test:
            return test["sound_rows"]["arguments"]
    return {}


def _columns(key: str | list[str]) -> tuple[str, ...]:
    return (key,) if isinstance(key, str) else tuple(key)


def _reference(table: str, reference: dict[str, Any], by_name: dict[str, str]) -> Join:
    columns = tuple(reference["columns"])
    to = re.fullmatch(r"ref\('(\w+)'\)", reference["to"])
    if to is None:
        raise ValueError(f"{table}: {reference['to']} names no table")
    return Join(columns, by_name[to[1]], tuple(reference.get("fields", columns)))
