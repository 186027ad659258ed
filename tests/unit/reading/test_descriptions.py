"""Raw tables are listed and described, for queries and in the dictionary; ordered results say by which column."""

from __future__ import annotations

import json
import re

from click.testing import CliRunner

from dialogue_warehouse.cli.main import cli
from dialogue_warehouse.corpora import registry
from dialogue_warehouse.paths import CLONE
from dialogue_warehouse.reading import descriptions
from tests.unit.published import BUILD, write_raw

TABLE = next(table for corpus in registry.load_corpora() for table in descriptions.raw_tables(corpus))


def add_raw_table(paths) -> None:
    """Give the published build a raw table of the first corpus."""
    manifest = json.loads(paths.build_manifest(BUILD).read_text())
    manifest["raw"][TABLE.name] = [write_raw(paths, "landed", [0, 1])]
    paths.build_manifest(BUILD).write_text(json.dumps(manifest))


def run(paths, *arguments: str) -> str:
    result = CliRunner().invoke(cli, [*arguments, "--warehouse", str(paths.root)], env={"COLUMNS": "250"})
    assert result.exit_code == 0, result.stderr
    return result.stdout


def test_raw_tables_are_listed_and_described(paths):
    """With the descriptions of the schema, and with the columns that landing adds."""
    add_raw_table(paths)
    assert re.search(rf"raw\.{TABLE.name} +2 +One row per record", run(paths, "tables"))
    for name in (TABLE.name, f"raw.{TABLE.name}"):
        described = run(paths, "describe", name)
        assert TABLE.description in described
        assert re.search(rf"record_index +BIGINT +{descriptions.OF_LANDING['record_index']}", described)


def test_raw_tables_are_in_the_information_schema(paths):
    add_raw_table(paths)
    text = f"select column_name from information_schema.columns where table_catalog = 'raw' and table_name = '{TABLE.name}'"
    assert json.loads(run(paths, "sql", "--raw", "--json", text)) == [{"column_name": "record_index"}]


def test_unreadable_raw_table_does_not_prevent_the_list(paths):
    """The failing twin."""
    paths.build_manifest(BUILD).unlink()
    listed = run(paths, "tables")
    assert "core.fct_turns" in listed
    assert "raw." not in listed


def test_dictionary_has_every_raw_table_and_field():
    """Each with its description in the schema."""
    text = descriptions.dictionary()
    for corpus in registry.load_corpora():
        for table in descriptions.raw_tables(corpus):
            section = text.split(f"### raw.{table.name}\n")[1].split("\n### ")[0]
            assert all(f"| {column.name} |" in section for column in table.columns)
            assert all(column.description for column in table.columns), table


def test_no_example_orders_by_a_key_that_sorts_as_text():
    """/10 comes before /2 as text; queries and README order by the number, and the dictionary says so."""
    texts = [path.read_text() for path in (CLONE / "warehouse" / "queries").glob("*.sql")]
    texts.append((CLONE / "README.md").read_text())
    ordered = re.compile(r"order by[^;)\n]*\b(?:turn|frame|action|slot|call|result|vote)_key\b")
    assert [text for text in texts if ordered.search(text)] == []
    assert ordered.search("select * from fct_turns order by turn_key")
    assert "order by dialogue_key, turn_index" in descriptions.HEADER
