"""The linter checks SQL wherever it is written: an error planted in each kind of place is reported."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.lint import sound as of_before
from tests.lint.pieces import pieces_of_file

CLONE = Path(__file__).resolve().parents[2]
SOUND = {
    "dbt_project/dbt_project.yml": "name: small\nprofile: small\nflags: {send_anonymous_usage_stats: false}\n",
    "dbt_project/profiles.yml": "small: {target: duckdb, outputs: {duckdb: {type: duckdb, path: small.duckdb}}}\n",
    "dbt_project/macros/lists.sql": """\
{% macro first_of(list) -%}
    {{ return(adapter.dispatch('first_of')(list)) }}
{%- endmacro %}

{% macro default__first_of(list) -%}
    list_extract({{ list }}, 1)
{%- endmacro %}

{% macro numbered(names) -%}
{%- for name in names %}
select
    {{ loop.index }} as number,
    '{{ name }}' as name
{% if not loop.last %}union all{% endif %}
{%- endfor %}
{%- endmacro %}

{% macro generate_alias_name(custom_alias_name=none, node=none) -%}
    {{ name_of_node(node) }}
{%- endmacro %}

{% macro name_of_node(node) -%}
    {{ node.name }}
{%- endmacro %}

{% macro comment_on(table) -%}
create or replace macro name_of(number) as (select any_value(name) from {{ table }} where {{ table }}.number = number);
comment on macro name_of is 'A name, and a rather long sentence that says what it is, what it is not, and why it is so.';
{%- endmacro %}
""",
    "dbt_project/macros/tests.sql": """\
{% test positive(model, column_name) %}
select {{ column_name }}
from {{ model }}
where {{ column_name }} <= 0
{% endtest %}
""",
    "dbt_project/models/names.sql": """\
{{ config(materialized='ephemeral', post_hook="{{ comment_on('names') }}") }}

{{ numbered(['a', 'b']) }}
""",
    "dbt_project/models/firsts.sql": """\
select
    names.number,
    {{ first_of('[names.name]') }} as first_name
from {{ ref('names') }} as names
{% if var('is_short', false) %}
where names.number < 2
{% else %}
where names.number < 9
{% endif %}
""",
    "dbt_project/models/models.yml": """\
models:
  - name: firsts
    columns:
      - name: number
        data_tests: [positive, not_null]
unit_tests:
  - name: names_have_firsts
    model: firsts
    given:
      - input: ref('names')
        format: sql
        rows: |
          select
              1 as number,
              'a' as name
    expect:
      rows: [{number: 1, first_name: a}]
""",
    "dbt_project/tests/assert_names_are_few.sql": "select names.number\nfrom {{ ref('names') }} as names\nwhere names.number > 9\n",
    "warehouse/queries/01_names.sql": "select count(*) as name_count\nfrom core.names\n",
    "dialogue_warehouse/corpora/small/restore.sql": """\
-- Rebuilds the release.

-- entity: names
select name
from core.names

-- entity: numbers
select number
from core.names
""",
    "dialogue_warehouse/corpora/small/claims.toml": """\
[[claims]]
id = "N01"
description = "SELECT is an act."
expected = [
    ["a"],
]
sql = \"\"\"
select name
from core.names
where name like '\\\\w'
\"\"\"

[[claims]]
id = "N02"
unexpected_rows = "select name from {table} where number < 0"
""",
    "tests/contract/twins.toml": 'N02 = "update core.names set number = -1 where rowid = (select min(rowid) from core.names)"\n',
    "pyproject.toml": (CLONE / "pyproject.toml").read_text(encoding="utf-8"),
}
"""Small clone, with one place of each kind."""

PLANTED = [
    # A file, its text, the text planted in its place, and the line and the code that the finding names.
    ("dbt_project/models/firsts.sql", "from {{", "FROM {{", 4, "CP01"),
    ("dbt_project/models/firsts.sql", "number < 2", "number < 2 AND true", 6, "CP01"),
    ("dbt_project/models/names.sql", "{{ numbered", "{{numbered", 3, "JJ01"),
    ("dbt_project/macros/lists.sql", "list_extract(", "LIST_EXTRACT(", 6, "CP03"),
    ("dbt_project/macros/lists.sql", "as number,", "AS number,", 12, "CP01"),
    ("dbt_project/macros/lists.sql", "(select any_value", "(SELECT any_value", 27, "CP01"),
    (
        "dbt_project/macros/lists.sql",
        "{% macro comment_on",
        "{% macro idle() %}{% endmacro %}{% macro comment_on",
        26,
        "DBT",
    ),
    ("dbt_project/macros/tests.sql", "<= 0", "<= 0 AND true", 4, "CP01"),
    ("dbt_project/models/models.yml", "1 as number", "1 AS number", 14, "CP01"),
    ("dbt_project/tests/assert_names_are_few.sql", " as names", " names", 2, "AL01"),
    ("dbt_project/tests/assert_disabled.sql", "", "{{ config(enabled=false) }}\nselect 1 as number\n", 1, "DBT"),
    ("dbt_project/models/unknown.sql", "", "select number\nfrom {{ unknown }}\n", 2, "TMP"),
    ("warehouse/queries/01_names.sql", " as name_count", " as name_count,", 1, "CV03"),
    ("dialogue_warehouse/corpora/small/restore.sql", "select number", "select number,", 8, "CV03"),
    ("dialogue_warehouse/corpora/small/claims.toml", "where name like", "WHERE name like", 10, "CP01"),
    ("dialogue_warehouse/corpora/small/claims.toml", "number < 0", "number < 0 AND true", 15, "CP01"),
    ("tests/contract/twins.toml", "update core", "UPDATE core", 1, "CP01"),
    (
        "tests/benchmarks/floor.sql",
        "",
        "create table a as\nselect 1 AS b;\ncreate table c as\nselect from;\n",
        4,
        "PRS",
    ),
]


def write(root: Path, files: dict[str, str]) -> Path:
    """Write the clone."""
    for name, text in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    return root


def lint(root: Path, *files: str) -> subprocess.CompletedProcess[str]:
    """Run the linter as `make lint` does, on another clone."""
    command = [sys.executable, "-m", "tests.lint", "--root", str(root), *(str(root / file) for file in files)]
    return subprocess.run(command, cwd=CLONE, capture_output=True, text=True, check=False)


@pytest.fixture(scope="module")
def findings(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    """Return the output of the linter for a clone with an error in every place."""
    files = dict(SOUND)
    for name, sound, planted, _, _ in PLANTED:
        text = files.get(name, "")
        assert text.count(sound) == 1 or not (text or sound), (name, sound)
        files[name] = text.replace(sound, planted, 1) if text else planted
    found = lint(write(tmp_path_factory.mktemp("planted"), files))
    assert found.returncode == 1, found.stderr
    return found.stdout.splitlines()


@pytest.mark.parametrize(("name", "line", "code"), [(name, line, code) for name, _, _, line, code in PLANTED])
def test_planted_error_is_named_with_its_line(findings: list[str], name: str, line: int, code: str) -> None:
    assert [found for found in findings if re.match(rf"{re.escape(name)}:{line}:\d+: {code} ", found)]


def test_only_planted_errors_are_found(findings: list[str]) -> None:
    planted = {(name, line) for name, _, _, line, _ in PLANTED} | {("tests/benchmarks/floor.sql", 2)}
    assert [found for found in findings if tuple(re.match(r"(.*?):(\d+):", found).groups()) not in
            {(name, str(line)) for name, line in planted}] == []  # fmt: skip


def test_finding_in_a_claim_names_the_claim(findings: list[str]) -> None:
    claims = [found for found in findings if found.startswith("dialogue_warehouse/corpora/small/claims.toml")]
    assert [found[found.rindex(" ") :] for found in claims] == [" [N01]", " [N02]"]


def test_finding_in_a_macro_is_reported_once_with_a_model_that_uses_it(findings: list[str]) -> None:
    (message,) = [found for found in findings if found.startswith("dbt_project/macros/lists.sql:12:")]
    assert "written for dbt_project/models/names.sql:3 as `1 AS number,`" in message


def test_sound_clone_has_no_findings(tmp_path: Path) -> None:
    found = lint(write(tmp_path, SOUND))
    assert (found.returncode, found.stdout) == (0, ""), found.stderr


def test_sound_file_is_cached_until_it_or_a_rule_changes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(of_before, "REMEMBERED", tmp_path / "sound_sql.txt")
    (piece,) = pieces_of_file("warehouse/queries/01_names.sql", "select 1 as a\n")
    (other,) = pieces_of_file("warehouse/queries/01_names.sql", "SELECT 1 as a\n")
    digest = of_before.digest(piece, tmp_path)
    assert of_before.remembered() == set()
    of_before.remember({digest})
    of_before.remember({"another"})
    assert of_before.remembered() == {digest, "another"}
    of_before.REMEMBERED.write_bytes(b"\xff")
    assert of_before.remembered() == set()
    assert of_before.digest(other, tmp_path) != digest
    (tmp_path / "pyproject.toml").write_text("[tool.sqlfluff.core]\n")
    of_before._rules.cache_clear()
    assert of_before.digest(piece, tmp_path) != digest


def test_finding_is_reported_each_time(tmp_path: Path) -> None:
    write(tmp_path, SOUND | {"warehouse/queries/01_names.sql": "SELECT 1 as a\n"})
    outputs = [lint(tmp_path, "warehouse/queries/01_names.sql").stdout for _ in range(2)]
    assert outputs[0] == outputs[1] != ""


def test_project_that_dbt_cannot_read_is_a_finding_with_file_and_line(tmp_path: Path) -> None:
    broken = {"dbt_project/models/firsts.sql": "select number\nfrom {{ ref('names' }}\n"}
    found = lint(write(tmp_path, SOUND | broken))
    assert found.returncode == 1
    assert re.match(r"dbt_project/models/firsts\.sql:2:1: DBT Compilation Error", found.stdout)


def test_only_the_named_files_are_linted(tmp_path: Path) -> None:
    broken = {"warehouse/queries/01_names.sql": "SELECT 1 as a\n", "warehouse/queries/02_names.sql": "SELECT 1 as b\n"}
    write(tmp_path, SOUND | broken)
    found = lint(tmp_path, "warehouse/queries/02_names.sql")
    assert [line.partition(":")[0] for line in found.stdout.splitlines()] == ["warehouse/queries/02_names.sql"]
    missing = lint(tmp_path, "warehouse/queries/03_names.sql")
    assert (missing.returncode, missing.stdout) == (2, "")
    assert "not a file of the clone: " in missing.stderr


def test_make_lint_lints_the_sql() -> None:
    recipe = re.search(r"^lint:.*\n((?:\t.*\n)+)", (CLONE / "Makefile").read_text(encoding="utf-8"), flags=re.MULTILINE)
    assert recipe is not None
    assert "$(BIN)/python -m tests.lint || failed=1;" in recipe[1]
