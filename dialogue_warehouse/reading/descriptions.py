"""Descriptions of tables and columns, keys and joins, from the dbt project and from the corpora's schemas.

`python -m dialogue_warehouse.reading.descriptions` writes them to warehouse/dictionary.md; a test compares the file.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from functools import cache
from typing import Any

from msgspec import inspect

from dialogue_warehouse.common.database import identifier, literal
from dialogue_warehouse.corpora import column_types, registry
from dialogue_warehouse.corpora.release import Corpus, Entity, raw_table
from dialogue_warehouse.paths import CLONE, DBT_PROJECT
from dialogue_warehouse.storage.builds import PUBLISHED_SCHEMAS

DEFINED = re.compile(r'\{\{ doc\("(\w+)"\) \}\}')
"""The place of a definition in the description of a column."""


@dataclass(frozen=True)
class Join:
    """Columns of a table that refer to one row of another table."""

    columns: tuple[str, ...]
    """The columns of this table."""
    to: str
    """The other table, with its schema."""
    fields: tuple[str, ...]
    """The columns of the other table, in the same order."""

    def __str__(self) -> str:
        pairs = zip(self.columns, self.fields, strict=True)
        return f"{self.to} on {', '.join(own if own == other else f'{own} = {other}' for own, other in pairs)}"


@dataclass(frozen=True)
class Links:
    """The key of a table and its joins with others."""

    key: tuple[str, ...]
    """The columns of its key; of the first key if it has several."""
    joins: tuple[Join, ...] = ()
    """The rows of other tables that its rows belong to, the nearest first."""
    joined_by: tuple[str, ...] = ()
    """The tables whose rows belong to its rows."""


@cache
def models() -> dict[str, dict[str, Any]]:
    """Return the description of each published table from dbt's YAML, by schema and name."""
    import yaml  # 20 ms, which a query does not need

    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)  # the parser in C if PyYAML has it
    found = {}
    for schema in PUBLISHED_SCHEMAS:
        for path in sorted((DBT_PROJECT / "models" / "marts" / schema).glob("*.yml")):
            file = yaml.load(path.read_text(encoding="utf-8"), Loader=loader)  # noqa: S506
            found |= {f"{schema}.{model['name']}": model for model in file.get("models", [])}
    return found


@cache
def definitions() -> dict[str, str]:
    """Return the single definition of each column name."""
    text = (DBT_PROJECT / "models" / "columns.md").read_text(encoding="utf-8")
    return dict(re.findall(r"{% docs (\w+) %}\n(.*?)\n{% enddocs %}", text, flags=re.DOTALL))


def columns_of(model: dict[str, Any]) -> dict[str, str]:
    """Return the description of each column of a table, with the definitions that it refers to."""
    return {
        column["name"]: DEFINED.sub(lambda match: definitions()[match[1]], column["description"]).strip()
        for column in model["columns"]
    }


@cache
def links() -> dict[str, Links]:
    """Return the key and the joins of each published table: references that dbt tests, and columns with a key's name.

    If a single column is the key of a table of `core` or `quality`, a column of this name in another table refers to
    its rows. Joins that a model lists in `meta` may find no row, and no test requires one.
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
    """Return the arguments of the table's test `sound_rows`."""
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


OF_LANDING = {
    "source_file_id": "the file that contains the record",
    "source_part": "the part of the release, from the path of the file",
    "record_index": "position of the record in its file's array or object, from 0",
    "record_pointer": "JSON pointer to the record in its file",
    "record_key": "the key of the record in its file's object; only tables of such files have it",
}
"""Columns that landing adds to each record; `record_key` only to those of an object."""


@dataclass(frozen=True)
class RawColumn:
    """A field of the records of a raw table."""

    name: str
    type: str
    description: str


@dataclass(frozen=True)
class RawTable:
    """A raw table: the records of one entity of a release."""

    name: str
    description: str
    columns: tuple[RawColumn, ...]


def raw_tables(corpus: Corpus) -> Iterator[RawTable]:
    """Yield the raw tables of a corpus as its schema describes them, without the columns that landing adds."""
    for entity in corpus.entities:
        yield _raw_table(corpus, entity)


def _raw_table(corpus: Corpus, entity: Entity) -> RawTable:
    kind = inspect.type_info(entity.record)
    columns = []
    if isinstance(kind, inspect.StructType):
        for field in kind.fields:
            columns.append(RawColumn(field.encode_name, column_types.duckdb_type(field.type), _described(field.type)))
    what = f"One row per record of {corpus.title}, {entity.name}: every published field, nested as published."
    return RawTable(raw_table(corpus, entity), what, tuple(columns))


def _described(kind: inspect.Type) -> str:
    """Return the note of a field, from its type or from a member of a union."""
    match kind:
        case inspect.Metadata():
            own = (kind.extra_json_schema or {}).get("description")
            return own or _described(kind.type)
        case inspect.UnionType():
            return next(filter(None, map(_described, kind.types)), "")
    return ""


def comments_on(table: str, present: Collection[str]) -> Iterator[str]:
    """Yield the SQL statements that add comments to the view of a raw table and to its present columns."""
    corpus_id = table.partition("__")[0]
    if corpus_id not in registry.corpus_ids():
        return
    for described in raw_tables(registry.load_corpus(corpus_id)):
        if described.name == table:
            yield f"comment on view raw.main.{identifier(table)} is {literal(described.description)}"
            texts = OF_LANDING | {column.name: column.description for column in described.columns}
            for name in texts.keys() & set(present):
                text = literal(texts[name])
                yield f"comment on column raw.main.{identifier(table)}.{identifier(name)} is {text}"


DICTIONARY = CLONE / "warehouse" / "dictionary.md"
HEADER = """# Data dictionary

Every published table and column. Generated from the descriptions in `dbt_project/` by
`python -m dialogue_warehouse.reading.descriptions`; the same texts are comments inside the database
(`dialogue-warehouse describe TABLE`). The tables of `raw` are those of the landed files, which only the folder of a
warehouse has: `sql --raw` adds them, and in Python `open(…, raw=True)`. Their descriptions are those of the corpora's
schemas.

Keys are text and sort as text, `…/10` before `…/2`. To sort rows in their published order, use the number columns, such
as `order by dialogue_key, turn_index`.
"""


def dictionary() -> str:
    """Return the dictionary as Markdown."""
    return "\n".join([HEADER, *_lines()]) + "\n"


def is_current() -> bool:
    """Return whether the written dictionary is that of the descriptions."""
    return DICTIONARY.read_text(encoding="utf-8") == dictionary()


def _lines() -> Iterator[str]:
    joined = links()
    for schema in PUBLISHED_SCHEMAS:
        yield f"## {schema}\n"
        for name, model in models().items():
            if not name.startswith(f"{schema}."):
                continue
            yield f"### {name}\n\n{model['description']}\n"
            yield from _links(joined[name])
            yield "| column | type | description |\n|---|---|---|"
            texts = columns_of(model)
            for column in model["columns"]:
                what = texts[column["name"]]
                yield f"| {column['name']} | {column['data_type']} | {what.replace('|', chr(92) + '|')} |"
            yield ""
    yield "## raw\n"
    yield f"Besides the fields of its records, each table has {_names_of_landing()}.\n"
    for corpus in registry.load_corpora():
        for table in raw_tables(corpus):
            yield f"### raw.{table.name}\n\n{table.description}\n"
            yield "| column | type | description |\n|---|---|---|"
            for column in table.columns:
                yield f"| {column.name} | {column.type} | {column.description.replace('|', chr(92) + '|')} |"
            yield ""


def _links(of_table: Links) -> Iterator[str]:
    """Yield the key and the joins of a table."""
    if of_table.key:
        yield f"Key: {', '.join(f'`{column}`' for column in of_table.key)}.\n"
    if of_table.joins:
        yield f"Joins {'; '.join(str(join) for join in of_table.joins)}.\n"


def _names_of_landing() -> str:
    """List the columns that landing adds to each record."""
    return ", ".join(f"`{name}` ({what})" for name, what in OF_LANDING.items())


if __name__ == "__main__":
    DICTIONARY.write_text(dictionary(), encoding="utf-8")
