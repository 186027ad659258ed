"""The linter splits a file into pieces of SQL, each with the place where it starts."""

from __future__ import annotations

import tomllib
from pathlib import Path

import pytest

from tests.lint.macros import CALL
from tests.lint.pieces import Finding, Piece, files_of, pieces_of_file
from tests.lint.run import lint_piece
from tests.lint.toml_sql import QUERIES, sql_in_toml

CLONE = Path(__file__).resolve().parents[2]


def places(found) -> list[tuple]:
    """Return line, column, name and text of each piece."""
    return [(piece.line, piece.column, piece.name, piece.variants[0].source_str) for piece in found]


def test_plain_file_is_one_piece() -> None:
    assert places(pieces_of_file("a.sql", "select 1 as a\n")) == [(1, 1, "", "select 1 as a\n")]


def test_sections_are_pieces_and_so_is_the_text_above_them() -> None:
    text = "-- Head.\n\n-- entity: first\nselect 1 as a\n\n-- entity: second\nselect 2 as b"
    assert places(pieces_of_file("a.sql", text)) == [
        (1, 1, "", "-- Head.\n"),
        (3, 1, "first", "-- entity: first\nselect 1 as a\n"),
        (6, 1, "second", "-- entity: second\nselect 2 as b"),
    ]


@pytest.mark.parametrize(
    ("toml", "place"),
    [
        ('sql = """\nselect 1 as a\n"""\n', (2, 1, "sql", "select 1 as a\n")),
        ("sql = '''\nselect 1 as a\n'''\n", (2, 1, "sql", "select 1 as a\n")),
        ('sql = """select 1 as a\n"""\n', (1, 10, "sql", "select 1 as a\n")),
        ('sql = "select 1 as a"\n', (1, 8, "sql", "select 1 as a\n")),
        ('[[x]]\nid = "X01"\nsql = "select 1 as a"\n', (3, 8, "X01", "select 1 as a\n")),
        ('[[x]]\nid = "X01"\n[[x]]\nsql = "select 1 as a"\n', (4, 8, "sql", "select 1 as a\n")),
        ('[[x]]\nid = "X01"\nlist = [\n  ["a"],\n["b"]\n]\nsql = "a"\n', (7, 8, "X01", "a\n")),
        ('unexpected_rows = "select a from {table}"\n', (1, 20, "unexpected_rows", "select a from _table_\n")),
        ('X01 = "delete from core.a"\n', (1, 8, "X01", "delete from core.a\n")),
        ('why = "Select what you like."\nsql = "x"\n', (2, 8, "sql", "x\n")),
    ],
)
def test_sql_in_toml_has_its_place_and_its_entry(toml: str, place: tuple) -> None:
    assert places(sql_in_toml("a.toml", toml)) == [place]


@pytest.mark.parametrize(
    "toml", ['x = { sql = "select 1 as a" }\n', '"sql" = "select 1 as a"\n', 'x.sql = "select 1 as a"\n']
)
def test_sql_that_no_line_starts_with_is_a_finding(toml: str) -> None:
    (found,) = sql_in_toml("a.toml", f"# Head.\n{toml}")
    assert isinstance(found, Finding)
    assert (found.line, found.code) == (2, "TOML")


def test_every_query_of_the_claims_is_a_piece() -> None:
    for path in (*CLONE.glob("dialogue_warehouse/corpora/*/claims.toml"), *CLONE.glob("expectations/*.toml")):
        text = path.read_text(encoding="utf-8")
        entries = [entry for array in tomllib.loads(text).values() if isinstance(array, list) for entry in array]
        queries = [entry["id"] for entry in entries for key in QUERIES if key in entry]
        assert [piece.name for piece in sql_in_toml(path.name, text)] == queries


def test_long_line_is_a_finding_in_a_query_and_none_in_a_statement_of_a_test() -> None:
    toml = f'sql = "select {"a" * 150} from b"\nX01 = "delete from b where {"a" * 150}"\n'
    query, statement = sql_in_toml("a.toml", toml)
    assert [found.finding.code for found in lint_piece(query, CLONE)] == ["LT05"]
    assert lint_piece(statement, CLONE) == []


def test_unparsable_sql_is_a_finding_and_a_comment_on_a_macro_is_none() -> None:
    for sql, codes in (("comment on macro a is 'b';\n", []), ("comment on macro a is 'b'; selec 1;\n", ["PRS"])):
        (piece,) = pieces_of_file("a.sql", sql)
        assert isinstance(piece, Piece)
        assert [found.finding.code for found in lint_piece(piece, CLONE)] == codes


def test_folders_of_tools_have_no_files_of_the_project(tmp_path: Path) -> None:
    for folder in (".venv", "dbt_project/target", "dbt_project/models"):
        (tmp_path / folder).mkdir(parents=True)
        (tmp_path / folder / "a.sql").touch()
    assert [path.relative_to(tmp_path).as_posix() for path in files_of(tmp_path, ".sql")] == [
        "dbt_project/models/a.sql"
    ]


def test_calls_are_found_in_an_expression() -> None:
    assert CALL.findall("{{ one(two ('a')) ~ three }}") == ["one", "two"]
