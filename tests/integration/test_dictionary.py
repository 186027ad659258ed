"""The published database agrees with the dictionary."""

from __future__ import annotations

import re
from pathlib import Path

import duckdb

from dialogue_warehouse.reading import descriptions


def test_database_has_exactly_the_documented_columns_with_their_comments(awkward_folder: Path) -> None:
    with duckdb.connect(str(awkward_folder / "dialogues.duckdb"), read_only=True) as con:
        found = con.execute(
            "select schema_name || '.' || table_name, column_name, comment is not null and comment <> '' "
            "from duckdb_columns() where schema_name in ('core', 'analytics', 'quality')"
        ).fetchall()
    documented = set()
    for section in descriptions.dictionary().split("\n### ")[1:]:
        table = section.split("\n", 1)[0]
        documented |= {(table, column, True) for column in re.findall(r"^\| (\w+) \| (?!type)", section, flags=re.M)}
    assert set(found) == {column for column in documented if not column[0].startswith("raw.")}
    assert any(table.startswith("raw.") for table, _, _ in documented)  # whose database is not published
