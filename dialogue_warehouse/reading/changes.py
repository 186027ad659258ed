"""Differences between two kept builds: rows by key, verdicts of claims, counts of rules, columns.

The keys are those that the models' YAML declares (`sound_rows`). If one of the builds lacks the key of a table, a row
is identified by all shared columns, and counts as removed and added instead of changed. If a build has recorded its
changes in `quality.build_changes`, they are read instead of computed.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import duckdb

from dialogue_warehouse.common.database import NO_PATH, connect, hashed, identifier, literal, one_line
from dialogue_warehouse.errors import InputError, counted
from dialogue_warehouse.paths import WarehousePaths
from dialogue_warehouse.reading import descriptions
from dialogue_warehouse.reading.connection import Connection
from dialogue_warehouse.reading.findings import Row, read_rows
from dialogue_warehouse.settings import Settings
from dialogue_warehouse.storage import builds
from dialogue_warehouse.storage.builds import open_build

COMPARED = ("core", "analytics")
"""The schemas whose rows are compared. `quality` is compared as verdicts and counts instead."""
FIRST_KEYS = 3
"""Number of keys listed for each kind of change, the smallest first."""


Columns = tuple[dict[str, str], dict[str, str]]
"""The columns of a table and their types, before and after."""
CLAIM_CHECKS, VIOLATIONS = "quality.claim_checks", "quality.violations"
"""The tables with the verdicts of claims, and with the rows that break a rule."""


@dataclass(frozen=True)
class Side:
    """One of the two builds that are compared."""

    build_id: str
    database: Path
    verdicts: Path | None = None
    """Folder with the Parquet files of the verdicts, if they are not in the database yet."""

    def relation(self, name: str, table: str) -> str:
        """Return the SQL relation of a table, in the database that is attached as `name`."""
        if table == CLAIM_CHECKS and self.verdicts:
            return f"read_parquet({literal(f'{self.verdicts}/*.parquet')}, {NO_PATH})"
        return f"{name}.{table}"


@dataclass(frozen=True)
class RowChange:
    """Rows of one corpus in one table that were added, removed or changed."""

    table_name: str
    corpus_id: str | None
    change: str
    row_count: int
    first_keys: tuple[str, ...]


@dataclass(frozen=True)
class Moved:
    """A claim with another outcome (None if a build lacks the claim), or a rule with another number of cases."""

    kind: str
    name: str
    corpus_id: str | None
    before: str | None
    after: str | None


@dataclass(frozen=True)
class Changes:
    """All differences between two builds."""

    base_build_id: str
    build_id: str
    columns: tuple[str, ...]
    """Differences of the tables and columns themselves, one line each."""
    rows: tuple[RowChange, ...]
    moved: tuple[Moved, ...]

    def summary(self) -> str:
        """Summarize the differences in a few words."""
        counts = [
            f"{counted(sum(row.row_count for row in self.rows if row.change == change), 'row')} {change}"
            for change in ("added", "removed", "changed")
            if any(row.change == change for row in self.rows)
        ]
        counts += [
            f"{counted(number, noun)} changed"
            for noun in ("claim", "rule")
            if (number := sum(one.kind == noun for one in self.moved))
        ]
        if self.columns:
            counts.append(f"{counted(len(self.columns), 'schema change')}")
        return ", ".join(counts) or "nothing differs"


def find_changes(paths: WarehousePaths, base_build_id: str, build_id: str, settings: Settings) -> Changes:
    """Compare a kept build with an earlier one. Raises InputError if one of them cannot be read."""
    base, build = (Side(one, paths.build_database(one)) for one in (base_build_id, build_id))
    return compare(base, build, settings)


def compare(base: Side, build: Side, settings: Settings, same: Collection[str] = ()) -> Changes:
    """Compare a build with an earlier one. The rows of the tables in `same` are not compared.

    Raises InputError if one of them cannot be read.
    """
    with connect(settings) as con:
        builds.serve(con, base.database, build.database)
        for name, side in (("before", base), ("after", build)):
            try:
                con.execute(f"attach {literal(str(side.database))} as {name} (read_only)")
            except duckdb.Error as error:
                raise InputError(f"{side.database} cannot be opened: {one_line(error)}") from error
        before, after = _tables(con, "before"), _tables(con, "after")
        shared = sorted((before.keys() & after.keys()) - set(same))
        keys = {table: links.key for table, links in descriptions.links().items()}
        rows = [
            change
            for table in shared
            for change in _row_changes(con, table, (before[table], after[table]), keys.get(table, ()))
        ]
        columns, moved = _column_changes(before, after), _moved(con, base, build)
        return Changes(base.build_id, build.build_id, tuple(columns), tuple(rows), tuple(moved))


def _tables(con: Connection, database: str) -> dict[str, dict[str, str]]:
    """Return the columns and types of each compared table."""
    found = con.execute(
        "select schema_name || '.' || table_name, column_name, data_type from duckdb_columns() "
        "where database_name = ? and list_contains(?, schema_name) order by 1, column_index",
        [database, list(COMPARED)],
    ).fetchall()
    tables: dict[str, dict[str, str]] = {}
    for table, column, data_type in found:
        tables.setdefault(table, {})[column] = data_type
    return tables


def _column_changes(before: dict[str, dict[str, str]], after: dict[str, dict[str, str]]) -> list[str]:
    lines = [f"{table} is removed" for table in sorted(before.keys() - after.keys())]
    lines += [f"{table} is new" for table in sorted(after.keys() - before.keys())]
    for table in sorted(before.keys() & after.keys()):
        for column in {**before[table], **after[table]}:
            was, now = before[table].get(column), after[table].get(column)
            if was is None:
                lines.append(f"{table}.{column} is new, {now}")
            elif now is None:
                lines.append(f"{table}.{column} is removed")
            elif was != now:
                lines.append(f"{table}.{column} is {now}, before {was}")
    return lines


def _row_changes(con: Connection, table: str, columns: Columns, key: tuple[str, ...]) -> list[RowChange]:
    before, after = columns
    shared = [column for column in before if column in after]
    key = key if key and set(key) <= set(shared) else tuple(shared)
    corpus = "corpus_id" if "corpus_id" in shared else f"split_part({identifier(key[0])}, '/', 1)"
    listed = ", ".join(f"cast({identifier(column)} as varchar) as part_{at}" for at, column in enumerate(key))
    content = [f"hash({hashed({column: types[column] for column in shared})})" for types in columns]
    sides = [
        f"{name} as (select {corpus} as corpus_id, {content} as content, {listed} from {name}.{table})"
        for name, content in zip(("before", "after"), content, strict=True)
    ]
    # As one text, the keys of two rows could be equal: a value can have a comma, or be the word NULL.
    are_same = " and ".join(f"before.part_{at} is not distinct from after.part_{at}" for at in range(len(key)))
    row_key = " || ', ' || ".join(f"coalesce(after.part_{at}, before.part_{at}, 'NULL')" for at in range(len(key)))
    found = con.execute(
        f"""
        with {", ".join(sides)}
        select
            coalesce(after.corpus_id, before.corpus_id) as corpus_id,
            case when before.content is null then 'added' when after.content is null then 'removed' else 'changed' end
                as change,
            count(*) as row_count,
            min({row_key}, {FIRST_KEYS}) as first_keys
        from before
        full outer join after on {are_same}
        where before.content is null or after.content is null or before.content <> after.content
        group by all
        order by all
        """
    ).fetchall()
    return [RowChange(table, corpus_id, change, count, tuple(keys)) for corpus_id, change, count, keys in found]


def _moved(con: Connection, base: Side, build: Side) -> list[Moved]:
    """Return claims with another outcome and rules with another number of cases; a rule that no row breaks has 0."""
    moved = []
    for kind, query, absent in (
        ("claim", "select claim_id as name, corpus_id, verdict || coalesce(': ' || observed, '') as value", None),
        ("rule", "select rule_id as name, corpus_id, cast(count(*) as varchar) as value", "0"),
    ):
        sides = [
            f"{at} as ({query} from {side.relation(at, CLAIM_CHECKS if kind == 'claim' else VIOLATIONS)} group by all)"
            for at, side in (("before", base), ("after", build))
        ]
        found = con.execute(
            f"""
            with {", ".join(sides)}
            select coalesce(after.name, before.name), coalesce(after.corpus_id, before.corpus_id),
                coalesce(before.value, ?), coalesce(after.value, ?)
            from before
            full outer join after
                on before.name = after.name and before.corpus_id is not distinct from after.corpus_id
            where before.value is distinct from after.value
            order by 2 nulls first, 1
            """,
            [absent, absent],
        ).fetchall()
        moved += [Moved(kind, *row) for row in found]
    return moved


def find(paths: WarehousePaths, base_build_id: str, build_id: str, settings: Settings) -> Changes:
    """Return the differences between two kept builds: recorded by the later one, or else computed.

    Raises InputError if one of them cannot be read.
    """
    recorded = read(paths, base_build_id, build_id, settings)
    return recorded or find_changes(paths, base_build_id, build_id, settings)


def read(paths: WarehousePaths, base_build_id: str, build_id: str, settings: Settings) -> Changes | None:
    """Return the recorded changes; None if a build was compared with another one, or its version recorded less."""
    try:
        compared_with = builds.read_manifest(paths, build_id).base_build_id
        if compared_with not in (None, base_build_id):
            return None
        with open_build(paths.build_database(build_id), settings) as con:
            rows = read_rows(
                con,
                "from quality.build_changes where build_id = ? and base_build_id = ? order by all",
                [build_id, base_build_id],
            )
    except (InputError, duckdb.Error):
        return None
    if not rows and compared_with is None:  # nothing differs, or it was compared with another build
        return None
    is_whole = all(row.get("first_before") is not None for row in rows if row["kind"] in _ORDER)
    return _made_of(rows, base_build_id, build_id) if is_whole else None


def describe(found: Changes) -> str:
    """Summarize the differences and name the earlier build, for the manifest of the build."""
    return f"{found.summary()}, against build {found.base_build_id}"


def verdict_of(outcome: str | None) -> str | None:
    """Return the verdict of a moved claim's outcome, which is the verdict alone or `<verdict>: <observed>`."""
    return outcome and outcome.partition(": ")[0]


def change_rows(found: Changes) -> Iterator[dict[str, Any]]:
    """Yield the rows of `quality.build_changes` about one build."""
    of = {"build_id": found.build_id, "base_build_id": found.base_build_id, "first_before": None, "first_after": None}
    for one in found.rows:
        at = {"kind": "row", "table_name": one.table_name, "corpus_id": one.corpus_id, "change": one.change}
        yield of | at | {"row_count": one.row_count, "first_keys": list(one.first_keys)}
    moved: dict[tuple[str, str | None, str], list[Moved]] = {}
    for one in found.moved:
        change = "added" if one.before is None else "removed" if one.after is None else "changed"
        moved.setdefault((one.kind, one.corpus_id, change), []).append(one)
    for (kind, corpus_id, change), those in moved.items():
        at = {"kind": kind, "table_name": CLAIM_CHECKS if kind == "claim" else VIOLATIONS, "corpus_id": corpus_id}
        names = [one.name for one in those]
        values = {"first_before": [one.before for one in those], "first_after": [one.after for one in those]}
        yield of | at | values | {"change": change, "row_count": len(those), "first_keys": names}
    if found.columns:
        at = {"kind": "column", "table_name": None, "corpus_id": None, "change": "changed"}
        yield of | at | {"row_count": len(found.columns), "first_keys": list(found.columns)}


_ORDER = ("claim", "rule")
"""The kinds of moved results, in the order of the output."""


def _made_of(rows: Iterable[Row], base_build_id: str, build_id: str) -> Changes:
    """Return the changes from the rows that `change_rows` made of them."""
    by_kind: dict[str, list[Row]] = {}
    for row in rows:
        by_kind.setdefault(row["kind"], []).append(row)
    moved = [
        Moved(kind, name, row["corpus_id"], before, after)
        for kind in _ORDER
        for row in by_kind.get(kind, ())
        for name, before, after in zip(row["first_keys"], row["first_before"], row["first_after"], strict=True)
    ]
    found = [
        RowChange(row["table_name"], row["corpus_id"], row["change"], row["row_count"], tuple(row["first_keys"]))
        for row in by_kind.get("row", ())
    ]
    return Changes(
        base_build_id,
        build_id,
        tuple(line for row in by_kind.get("column", ()) for line in row["first_keys"]),
        tuple(found),
        tuple(sorted(moved, key=lambda one: (_ORDER.index(one.kind), one.corpus_id or "", one.name))),
    )
