"""Declarations about the shared tables, read from their sources, each with the change that must break it.

Contracts, keys, references and vocabularies are declared in the YAML of the marts and in dbt_project.yml: their failing
twins follow from the declaration. Rules about rows and tables are SQL in expectations/marts.toml and dbt_project/tests:
their twins are in shared_twins.toml. No rule is repeated here, and no corpus is named.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from dialogue_warehouse.corpora.suites import Expectation, load_marts_suites
from dialogue_warehouse.paths import DBT_PROJECT
from tests.contract.twins import twin_of

PROJECT = yaml.safe_load((DBT_PROJECT / "dbt_project.yml").read_text(encoding="utf-8"))
ENTITIES: dict[str, list[str]] = PROJECT["vars"]["corpora"]
DERIVED: dict[str, list[str]] = PROJECT["vars"]["derived"]
STAGED: dict[str, list[str]] = PROJECT["vars"]["staged"]
VOCABULARIES: dict[str, list[str]] = PROJECT["vars"]["vocabularies"]
EVERY_CORPUS = "every corpus"
"""Stands for the rows of all corpora: used if a table is not stacked from the rows of the corpora."""
UNHEARD = "unheard-of"
"""A value that is in no vocabulary and is not the key of any row."""
FILLERS = {"varchar": "'filler'", "boolean": "false", "timestamp": "timestamp '2026-01-01'"}
"""A value for each type; all other types use 0, or an empty list."""


@dataclass(frozen=True)
class Change:
    """Change of a table that must be noticed, and the expected message."""

    name: str
    statement: str
    noticed: tuple[str, str]
    """For `sound_rows`, the broken declaration and its columns; for a contract, the error message."""


@dataclass(frozen=True)
class Table:
    """Table of the marts, as its YAML declares it."""

    name: str
    """`<schema>.<table>`."""
    types: dict[str, str]
    """Type of each column, by name."""
    required: tuple[str, ...]
    """Columns that are never NULL."""
    keys: tuple[tuple[str, ...], ...]
    references: tuple[tuple[tuple[str, ...], str], ...]
    """Columns, and the table that they refer to."""
    entity: str | None
    """Entity that the table stacks from each corpus that has it; None if it is made in another way."""

    @property
    def short_name(self) -> str:
        """Return the name of the table without its schema."""
        return self.name.partition(".")[2]

    @property
    def own_key(self) -> str | None:
        """Return the column of a core table that is its own key: the first column, unless it is a reference."""
        first = next(iter(self.types))
        is_own = (first,) in self.keys and all(columns != (first,) for columns, _ in self.references)
        return first if is_own and first.endswith("_key") and self.name.startswith("core.") else None

    @property
    def filler(self) -> str:
        """Return the statement that inserts a row, for a table that is empty in the sample."""
        values = [
            f"'{words[0]}'"
            if (words := self.words(column))
            else FILLERS.get(self.types[column], "[]" if "[" in self.types[column] else "0")
            for column in self.required
        ]
        return f"insert into {self.name} ({', '.join(self.required)}) values ({', '.join(values)})"

    def words(self, column: str) -> list[str]:
        """Return the values that a column may have; empty if it may have any value."""
        return VOCABULARIES.get(f"{self.short_name}.{column}", VOCABULARIES.get(column, []))

    def compiled(self, by_dbt: Mapping[str, str]) -> str:
        """Return the SQL of the table's test, from the compiled SQL of all tests."""
        return by_dbt[f"sound_{self.short_name}"]

    def unsound(self) -> Iterator[Change]:
        """Return, for each key, reference and vocabulary, a change that dbt's test must notice."""
        first = f"where rowid = (select min(rowid) from {self.name})"
        for columns in self.keys:
            names = ", ".join(columns)
            repeated = f"insert into {self.name} select * from {self.name} {first}"
            yield Change(f"{names} is a key", repeated, ("repeated key", names))
        for columns, parent in self.references:
            changed = [column for column in columns if column != "corpus_id"] or list(columns)
            values = ", ".join(f"{column} = '{UNHEARD}'" for column in changed)
            lost = f"update {self.name} set {values} {first}"
            yield Change(
                f"{', '.join(columns)} refers to {parent}", lost, (f"no such row in {parent}", ", ".join(columns))
            )
        for column in self.types:
            if self.words(column):
                misnamed = f"update {self.name} set {column} = '{UNHEARD}' {first}"
                yield Change(f"{column} is a word of ours", misnamed, ("unknown word", column))

    def refused(self) -> Iterator[Change]:
        """Return, for each column that is never NULL, a change that the published table itself must refuse."""
        for column in self.required:
            statement = f"update {self.name} set {column} = null where rowid = (select min(rowid) from {self.name})"
            yield Change(f"{column} has a value", statement, ("NOT NULL", f"{self.short_name}.{column}"))


@dataclass(frozen=True)
class Rule:
    """SQL that selects the rows that break a rule, and the statement that makes such rows."""

    name: str
    query: str | None
    """None for a test of dbt, whose SQL dbt compiles."""
    twin: str | None
    table: str | None
    """Table whose rows the rule is about."""

    def compiled(self, by_dbt: Mapping[str, str]) -> str:
        """Return the rule's SQL; for a test of dbt, as dbt compiles it."""
        return by_dbt[self.name] if self.query is None else self.query


def read_tables() -> list[Table]:
    """Return every table of the marts. Models without columns are inlined and not published."""
    tables = []
    for path in sorted((DBT_PROJECT / "models" / "marts").rglob("*.yml")):
        for model in yaml.safe_load(path.read_text(encoding="utf-8")).get("models", []):
            if "columns" in model:
                tables.append(_table(path, model))
    return tables


def read_rules() -> list[Rule]:
    """Return every rule in SQL: the expectations of the shared suites that select rows, and dbt's own tests."""
    expected = [
        Rule(expectation.expectation_id, expectation.kwargs["query"], _twin(suite.name, expectation), expectation.table)
        for suite in load_marts_suites()
        for expectation in suite.expectations
        if "query" in expectation.kwargs
    ]
    tests = sorted((DBT_PROJECT / "tests").glob("*.sql"))
    return expected + [Rule(path.stem, None, twin_of("dbt", path.stem), None) for path in tests]


def _twin(suite: str, expectation: Expectation) -> str | None:
    return twin_of(suite, expectation.expectation_id, expectation.table)


def _table(path: Path, model: dict[str, Any]) -> Table:
    schema = path.relative_to(DBT_PROJECT / "models" / "marts").parts[0]
    ours = [test["sound_rows"] for test in model.get("data_tests", []) if "sound_rows" in test]
    assert [test["name"] for test in ours] == [f"sound_{model['name']}"], f"{model['name']} has no test sound_rows"
    declared = ours[0]["arguments"]
    columns = model["columns"]
    return Table(
        name=f"{schema}.{model['name']}",
        types={column["name"]: column["data_type"] for column in columns},
        required=tuple(column["name"] for column in columns if {"type": "not_null"} in column.get("constraints", [])),
        keys=tuple((key,) if isinstance(key, str) else tuple(key) for key in declared["keys"]),
        references=tuple(
            (tuple(reference["columns"]), re.findall(r"ref\('(\w+)'\)", reference["to"])[0])
            for reference in declared.get("references", [])
        ),
        entity=_entity(path.with_name(f"{model['name']}.sql")) if schema == "core" else None,
    )


def _entity(path: Path) -> str | None:
    """Return the entity that a core model stacks with the macro `union_corpora`."""
    stacked = re.findall(r"union_corpora\('(\w+)'", path.read_text(encoding="utf-8"))
    return stacked[0] if len(stacked) == 1 else None
