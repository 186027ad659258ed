"""The declarations of what is expected are checked as they are read, and the audit does what they say."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

import duckdb
import pytest

from expectations import suites
from expectations.client import AuditError, AuditProcess
from expectations.suites import (
    QUERY_ROWS,
    UNEXPECTED_ROWS,
    load_corpus_suite,
    load_marts_suites,
    load_suites,
)
from pipelines.corpora.claims import SuiteError, load_claims, load_defects
from pipelines.corpora.registry import corpus_ids
from pipelines.paths import CLONE
from tests.unit import core_tables

DOCUMENTS = Path(os.environ.get("DIALOGUE_DOCUMENTS") or CLONE.parent / "shared" / "documents")

# --- the declarations -----------------------------------------------------------------------------------------------

LISTED = '[documents."readme.txt"]\ntitle = "README"\n'
CLAIM = {
    "id": '"X01"',
    "quote": '"either A or B"',
    "document": '"readme.txt"',
    "locator": '"Data"',
    "kind": '"invariant"',
    "severity": '"warning"',
    "description": '"A speaker is A or B."',
    "table": '"core.fct_turns"',
    "type": '"expect_column_values_to_be_in_set"',
    "kwargs": '{ column = "source_speaker", value_set = ["A", "B"] }',
    "rows": '{ corpus_id = "room" }',
    "why": '"They are two."',
}
QUERY = '"select * from core.fct_turns"'
RECORDED = '{ value = 3, reason = "miscounted" }'
NUMBER = {"kind": '"count"', "type": None, "kwargs": None, "rows": None}
NUMBER |= {"sql": '"select count(*) from core.fct_turns"', "expected": "2"}


def room(folder: Path, *claims: dict[str, str | None]) -> Path:
    """A corpus room with these claims, each the usual one with some keys changed; None leaves a key out."""
    text = LISTED
    for changes in claims:
        entries = {key: value for key, value in (CLAIM | changes).items() if value is not None}
        text += "\n[[claims]]\n" + "".join(f"{key} = {value}\n" for key, value in entries.items())
    (folder / "claims.toml").write_text(text, encoding="utf-8")
    return folder


def test_claim_becomes_an_expectation(tmp_path: Path) -> None:
    suite = load_corpus_suite("room", room(tmp_path, {}))
    assert suite.name == "room"
    (expectation,) = suite.expectations
    assert (expectation.expectation_id, expectation.claim_id, expectation.table) == ("X01", "X01", "core.fct_turns")
    assert expectation.kwargs["row_condition"] == {
        "type": "comparison",
        "column": {"name": "corpus_id"},
        "operator": "==",
        "parameter": "room",
    }


def test_claim_in_sql_becomes_our_own_expectation(tmp_path: Path) -> None:
    changes = {"type": None, "kwargs": None, "rows": None, "unexpected_rows": QUERY}
    (expectation,) = load_corpus_suite("room", room(tmp_path, changes)).expectations
    assert expectation.type == UNEXPECTED_ROWS
    assert expectation.kwargs == {"query": "select * from core.fct_turns"}


def test_claims_keep_where_they_stand(tmp_path: Path) -> None:
    (claim,) = load_claims("room", room(tmp_path, {}))
    assert (claim.claim_id, claim.corpus_id, claim.kind) == ("X01", "room", "invariant")
    assert (claim.quote, claim.document, claim.locator) == ("either A or B", "readme.txt", "Data")


def test_a_number_is_expected_as_recorded_else_as_documented(tmp_path: Path) -> None:
    (documented,) = load_corpus_suite("room", room(tmp_path, NUMBER)).expectations
    assert (documented.type, documented.kwargs["rows"]) == (QUERY_ROWS, [[2]])
    (recorded,) = load_corpus_suite("room", room(tmp_path, NUMBER | {"recorded": RECORDED})).expectations
    assert recorded.kwargs == {"query": "select count(*) from core.fct_turns", "rows": [[3]]}
    broken = {"type": None, "kwargs": None, "rows": None, "unexpected_rows": QUERY, "recorded": RECORDED}
    (invariant,) = load_corpus_suite("room", room(tmp_path, broken)).expectations
    assert invariant.kwargs["query"] == "select count(*) as unexpected from (select * from core.fct_turns)"
    assert invariant.kwargs["rows"] == [[3]]


def test_known_defects_are_read_and_guarded(tmp_path: Path) -> None:
    folder = room(tmp_path, {})
    text = (folder / "claims.toml").read_text()
    entry = '[[defects]]\nid = "blank"\ntitle = "Blank"\ndescription = "d"\nwhy = "w"\nexpected = 2\n'
    (folder / "claims.toml").write_text(text + entry)
    (defect,) = load_defects("room", folder)
    assert (defect.rule_id, defect.expected, defect.upstream) == ("blank", 2, None)
    guard = load_corpus_suite("room", folder).expectations[-1]
    assert (guard.expectation_id, guard.claim_id, guard.severity) == ("defect:blank", None, "warning")
    assert guard.kwargs["rows"] == [[2]]
    assert guard.kwargs["query"].endswith("rule_id = 'blank' and corpus_id = 'room'")
    (folder / "claims.toml").write_text(text + entry + 'files = ["a_*.json", "b.json"]\n')
    narrowed = load_corpus_suite("room", folder).expectations[-1].kwargs["query"]
    assert narrowed.endswith(" and (source_file_id glob 'room/a_*.json' or source_file_id glob 'room/b.json')")
    (folder / "claims.toml").write_text(text + entry + entry)
    with pytest.raises(SuiteError, match=r"^room/claims\.toml blank: id occurs twice$"):
        load_defects("room", folder)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"quotation": '"x"'}, "room/claims.toml X01: Object contains unknown field `quotation`"),
        ({"quote": None}, "room/claims.toml X01: Object missing required field `quote`"),
        ({"quote": '""'}, "room/claims.toml X01: Expected `str` of length >= 1 - at `$.quote`"),
        ({"id": None}, "room/claims.toml (no id): Object missing required field `id`"),
        ({"severity": '"fatal"'}, "room/claims.toml X01: Invalid enum value 'fatal' - at `$.severity`"),
        ({"kind": '"guess"'}, "room/claims.toml X01: Invalid enum value 'guess' - at `$.kind`"),
        ({"table": '"fct_turns"'}, "room/claims.toml X01: Expected `str` matching regex"),
        ({"document": '"paper.pdf"'}, "room/claims.toml X01: document 'paper.pdf' is not listed under [documents]"),
        ({"type": None}, "room/claims.toml X01: needs either 'type' or 'unexpected_rows'"),
        ({"table": None}, "room/claims.toml X01: needs a 'table'"),
        ({"expected": "3"}, "room/claims.toml X01: 'expected' belongs to a count"),
        ({"not_checkable": '"why"'}, "room/claims.toml X01: is not checkable, and has 'type'"),
        (
            {"recorded": RECORDED},
            "room/claims.toml X01: 'recorded' needs 'unexpected_rows', and is how many rows they are",
        ),
        (
            {"kind": '"count"'},
            "room/claims.toml X01: a count needs 'sql' and 'expected', and nothing else that measures",
        ),
        (NUMBER | {"expected": None}, "room/claims.toml X01: a count needs 'sql' and 'expected'"),
        (NUMBER | {"sql": '"select 1"'}, "room/claims.toml X01: 'sql' does not read core.fct_turns"),
        (NUMBER | {"recorded": "{ value = 3 }"}, "room/claims.toml X01: Object missing required field `reason`"),
        ({"unexpected_rows": QUERY}, "room/claims.toml X01: needs either 'type' or 'unexpected_rows'"),
        (
            {"type": None, "unexpected_rows": QUERY},
            "room/claims.toml X01: 'kwargs' and 'rows' belong to a 'type', not to 'unexpected_rows'",
        ),
        (
            {"type": None, "kwargs": None, "rows": None, "unexpected_rows": '"select 1"'},
            "room/claims.toml X01: 'unexpected_rows' does not read core.fct_turns",
        ),
        (
            {"kwargs": '{ column = "x", row_condition = "y = 1" }'},
            "room/claims.toml X01: write 'rows' instead of a row_condition in 'kwargs'",
        ),
        (
            {"type": '"expect_column_pair_values_to_be_in_set"'},
            "room/claims.toml X01: Great Expectations ignores 'rows' with expect_column_pair_values_to_be_in_set",
        ),
    ],
)
def test_wrong_claim_is_refused_in_one_line(tmp_path: Path, changes: dict[str, str | None], message: str) -> None:
    with pytest.raises(SuiteError, match=f"^{re.escape(message)}[^\n]*$"):
        load_corpus_suite("room", room(tmp_path, changes))


def test_repeated_claim_is_refused(tmp_path: Path) -> None:
    with pytest.raises(SuiteError, match=r"^room/claims\.toml X01: id occurs twice$"):
        load_corpus_suite("room", room(tmp_path, {}, {}))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (LISTED, "room/claims.toml: suite 'room' is empty"),
        (LISTED + "claims = 3", "room/claims.toml document readme.txt: Object contains unknown field `claims`"),
        ("claims = 3", "room/claims.toml: 'claims' is no array of tables"),
        ("claims = [3]", "room/claims.toml (no table): Expected `object`, got `int`"),
        ("[[claim]]\nid = 1", "room/claims.toml: unknown key 'claim'"),
        ("documents = 1", "room/claims.toml: 'documents' is no table"),
    ],
)
def test_wrong_file_is_refused_in_one_line(tmp_path: Path, text: str, message: str) -> None:
    (tmp_path / "claims.toml").write_text(text, encoding="utf-8")
    with pytest.raises(SuiteError, match=f"^{re.escape(message)}$"):
        load_corpus_suite("room", tmp_path)


def test_file_that_is_no_toml_is_refused(tmp_path: Path) -> None:
    (tmp_path / "claims.toml").write_text("[[claims]", encoding="utf-8")
    with pytest.raises(SuiteError, match=r"^room/claims\.toml: [^\n]*line 1[^\n]*$"):
        load_corpus_suite("room", tmp_path)


def test_missing_file_is_refused(tmp_path: Path) -> None:
    with pytest.raises(SuiteError, match=r"^room/claims\.toml: is missing$"):
        load_corpus_suite("room", tmp_path)


def test_two_suites_of_one_name_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    suite = load_corpus_suite("room", room(tmp_path, {}))
    monkeypatch.setattr(suites, "load_marts_suites", lambda: (suite, suite))
    with pytest.raises(SuiteError, match=r"^marts\.toml room: suite occurs twice$"):
        load_suites([])


def test_expectation_of_several_tables_becomes_one_for_each(tmp_path: Path) -> None:
    path = tmp_path / "marts.toml"
    check = {"id": "a", "severity": "critical", "description": "d", "why": "w", "tables": ["core.x", "core.y"]}
    path.write_text(toml({"marts": [check | {"unexpected_rows": "select 1 from {table}"}]}), encoding="utf-8")
    (suite,) = load_marts_suites(path)
    assert [(entry.expectation_id, entry.kwargs["query"]) for entry in suite.expectations] == [
        ("a/x", "select 1 from core.x"),
        ("a/y", "select 1 from core.y"),
    ]


@pytest.mark.parametrize("corpus_id", corpus_ids())
def test_room_has_claims_of_every_kind(corpus_id: str) -> None:
    expectations = load_corpus_suite(corpus_id).expectations
    assert len(expectations) >= 8
    assert {entry.severity for entry in expectations} == {"critical", "warning"}
    assert {UNEXPECTED_ROWS, QUERY_ROWS} < {entry.type for entry in expectations}
    claimed = [entry for entry in expectations if entry.claim_id]
    assert all(re.fullmatch(r"[A-Z]\d\d?(\.\d)?[a-z]?", entry.expectation_id) for entry in claimed)


@pytest.mark.parametrize("corpus_id", corpus_ids())
def test_room_judges_no_other_corpus(corpus_id: str) -> None:
    """A claim about a table that has other corpora too names its own, in SQL or in its rows."""
    shared = {table for table, columns in core_tables.TABLES.items() if "corpus_id" in columns.split()}
    for entry in load_corpus_suite(corpus_id).expectations:
        if entry.table.partition(".")[2] in shared:
            assert corpus_id in json.dumps(entry.kwargs), entry.expectation_id


def test_marts_name_no_corpus() -> None:
    text = suites.MARTS.read_text(encoding="utf-8")
    assert [corpus_id for corpus_id in corpus_ids() if corpus_id in text] == []


@pytest.mark.skipif(not DOCUMENTS.is_dir(), reason="the corpora's documents are not in the clone: DIALOGUE_DOCUMENTS")
@pytest.mark.parametrize("corpus_id", corpus_ids())
def test_quotes_are_the_documents_own_words(corpus_id: str) -> None:
    for claim in load_claims(corpus_id):
        if (DOCUMENTS / claim.document).exists():
            assert claim.quote in (DOCUMENTS / claim.document).read_text(encoding="utf-8"), claim.claim_id


def test_reading_suites_imports_no_heavy_library() -> None:
    code = (
        "import sys; from expectations import client, suites; suites.load_suites();"
        " print([name for name in ('great_expectations', 'sqlalchemy', 'pandas', 'dagster') if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60)
    assert done.stdout == "[]\n"


# --- the audit ------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def audit() -> Iterator[AuditProcess]:
    """One audit process for this module."""
    with AuditProcess(timeout=120) as process:
        yield process


@dataclass(frozen=True)
class Bench:
    """A database to audit, and where the results go."""

    audit: AuditProcess
    folder: Path
    corpora: tuple[str, ...] = ()

    @property
    def database(self) -> Path:
        return self.folder / "warehouse.duckdb"

    def execute(self, *statements: str) -> None:
        with duckdb.connect(str(self.database)) as connection:
            for statement in statements:
                connection.execute(statement)

    def run(self, *checks: dict[str, Any], **request: Any) -> dict[str, Any]:
        """Audit these checks as suite `own`, or the project's suites."""
        if checks:
            usual = {"severity": "critical", "description": "It holds.", "why": "It must."}
            (self.folder / "own.toml").write_text(toml({"own": [usual | check for check in checks]}), encoding="utf-8")
            request["suite_file"] = str(self.folder / "own.toml")
        return self.audit.run(
            {
                "database": str(self.database),
                "suites": "all",
                "corpora": list(self.corpora),
                "output": str(self.folder),
                "build_id": "b1",
                "run_at": "2026-01-02T03:04:05+01:00",
            }
            | request
        )

    def results(self) -> list[tuple[Any, ...]]:
        with duckdb.connect() as connection:
            return connection.execute(f"from '{self.folder}/expectation_results/results.parquet'").fetchall()


def toml(document: dict[str, list[dict[str, Any]]]) -> str:
    """Arrays of tables as TOML."""

    def value(thing: Any) -> str:
        if isinstance(thing, dict):
            return "{ " + ", ".join(f'"{key}" = {value(entry)}' for key, entry in thing.items()) + " }"
        if isinstance(thing, list):
            return "[" + ", ".join(value(entry) for entry in thing) + "]"
        return json.dumps(thing)

    return "".join(
        f"[[{name}]]\n" + "".join(f"{key} = {value(entry)}\n" for key, entry in table.items())
        for name, tables in document.items()
        for table in tables
    )


@pytest.fixture
def bench(audit: AuditProcess, tmp_path: Path) -> Bench:
    """Three turns, one of them without a speaker, one with a strange one."""
    bench = Bench(audit, tmp_path)
    bench.execute(
        "create schema core",
        "create table core.fct_turns as from (values ('k0', 'A'), ('k1', null), ('k2', 'C')) as t (turn_key, speaker)",
    )
    return bench


PASSES = {"id": "passes", "tables": ["core.fct_turns"], "unexpected_rows": "select 1 from core.fct_turns where false"}
FAILS = {"id": "fails", "tables": ["core.fct_turns"], "unexpected_rows": "from core.fct_turns where speaker = 'C'"}


def native(identifier: str, kind: str, **changes: Any) -> dict[str, Any]:
    """A check of Great Expectations' own on the column speaker."""
    kwargs = {"column": "speaker"} | changes.pop("kwargs", {})
    return {"id": identifier, "tables": ["core.fct_turns"], "type": kind, "kwargs": kwargs} | changes


@pytest.fixture(scope="module")
def empty_warehouse(audit: AuditProcess, tmp_path_factory: pytest.TempPathFactory) -> Bench:
    """Every table of core, with nothing in them but the corpora."""
    bench = Bench(audit, tmp_path_factory.mktemp("empty"), corpus_ids())
    with duckdb.connect(str(bench.database)) as connection:
        core_tables.create(connection)
        core_tables.insert(connection, "dim_corpora", *({"corpus_id": corpus_id} for corpus_id in corpus_ids()))
    return bench


@pytest.fixture(scope="module")
def empty_files(audit: AuditProcess, tmp_path_factory: pytest.TempPathFactory) -> Bench:
    """The same with a file of each corpus, in which there is nothing."""
    bench = Bench(audit, tmp_path_factory.mktemp("files"), corpus_ids())
    with duckdb.connect(str(bench.database)) as connection:
        core_tables.create(connection)
        for corpus_id in corpus_ids():
            core_tables.insert(connection, "dim_corpora", {"corpus_id": corpus_id})
            file = {"corpus_id": corpus_id, "path": "other.json", "verification": "unlisted"}
            core_tables.insert(connection, "dim_source_files", file)
    return bench


def test_of_absent_corpora_nothing_is_judged(empty_warehouse: Bench) -> None:
    summary = empty_warehouse.run()
    assert list(summary) == ["marts"]
    assert summary["marts"]["failures"] == []
    with duckdb.connect() as connection:
        checks = connection.execute(f"from '{empty_warehouse.folder}/claim_checks/results.parquet'").fetchall()
    assert {row[0] for row in checks} == {claim.claim_id for corpus in corpus_ids() for claim in load_claims(corpus)}
    assert {row[3] for row in checks} == {"source_absent", "not_checkable"}
    assert {(row[2], row[4]) for row in checks} == {(None, None)}


def test_invariants_hold_where_there_is_no_row(empty_files: Bench) -> None:
    summary = empty_files.run()
    assert sorted(summary) == sorted([*corpus_ids(), "marts"])
    for corpus_id in corpus_ids():
        assert summary[corpus_id]["failures"] == []
        assert summary[corpus_id]["verdicts"]["reproduced"] == summary[corpus_id]["evaluated"] > 8
        assert summary[corpus_id]["verdicts"].get("refuted", 0) == 0


def test_warehouse_of_other_corpora_fails(empty_warehouse: Bench) -> None:
    summary = empty_warehouse.run(suites=["marts"], corpora=list(corpus_ids()[1:]))
    assert [failure["expectation"] for failure in summary["marts"]["failures"]] == [
        "corpora_are_counted",
        "corpora_are_those_built",
    ]
    assert summary["marts"]["failed"] == 2


def test_only_the_built_corpora_are_audited(empty_files: Bench) -> None:
    one = corpus_ids()[0]
    assert sorted(empty_files.run(corpora=[one])) == sorted([one, "marts"])


def test_single_expectation_can_be_audited(empty_warehouse: Bench) -> None:
    summary = empty_warehouse.run(only=["marts/turns_are_dense"])
    assert {name: suite["evaluated"] for name, suite in summary.items()} == {"marts": 1}


@pytest.mark.parametrize(
    ("rows", "success"),
    [([["A", 1], ["C", 1.0]], True), ([["A", 1], ["C", 2]], False), ([["A", 1]], False), ([["C", 1], ["A", 1]], False)],
)
def test_a_query_gives_just_these_rows(bench: Bench, rows: list[list[Any]], success: bool) -> None:
    query = "select speaker, count(*) as turns from core.fct_turns where speaker <> 'x:y' group by speaker order by all"
    summary = bench.run(
        {"id": "rows", "tables": ["core.fct_turns"], "type": QUERY_ROWS, "kwargs": {"query": query, "rows": rows}}
    )
    assert summary["own"]["passed"] == success
    assert bench.results()[0][6] == json.dumps({"value": '[["A", 1], ["C", 1]]'})


def test_results_are_written_in_the_order_of_declaration(bench: Bench) -> None:
    in_set = native("set", "expect_column_values_to_be_in_set", kwargs={"value_set": ["A", "C"]})
    bench.run(native("null", "expect_column_values_to_not_be_null", severity="warning"), PASSES, FAILS, in_set)
    assert bench.results() == [
        ("b1", "own", identifier, None, "core.fct_turns", success, observed, severity, "It holds.", utc)
        for utc in [datetime(2026, 1, 2, 2, 4, 5)]
        for identifier, success, observed, severity in [
            ("null", False, '{"unexpected": 1, "of": 3}', "warning"),
            ("passes", True, '{"unexpected": 0}', "critical"),
            ("fails", False, '{"unexpected": 1}', "critical"),
            ("set", True, '{"unexpected": 0, "of": 3}', "critical"),
        ]
    ]


def test_summary_tells_warnings_from_failures(bench: Bench) -> None:
    warns = native("null", "expect_column_values_to_not_be_null", severity="warning")
    assert bench.run(warns, PASSES, FAILS)["own"] == {
        "evaluated": 3,
        "passed": 1,
        "warned": 1,
        "failed": 1,
        "failures": [
            {
                "expectation": "null",
                "claim_id": None,
                "severity": "warning",
                "observed": '{"unexpected": 1, "of": 3}',
                "description": "It holds.",
            },
            {
                "expectation": "fails",
                "claim_id": None,
                "severity": "critical",
                "observed": '{"unexpected": 1}',
                "description": "It holds.",
            },
        ],
    }


def test_value_missing_from_a_set_is_counted(bench: Bench) -> None:
    kwargs = {"value_set": ["A", "C", "Z"]}
    summary = bench.run(native("set", "expect_column_distinct_values_to_equal_set", kwargs=kwargs))
    assert summary["own"]["failures"][0]["observed"] == '{"unexpected": 0, "missing": 1}'


@pytest.mark.parametrize(
    ("check", "message"),
    [
        (FAILS | {"unexpected_rows": "select nope from core.fct_turns"}, 'Referenced column "nope" not found'),
        (native("column", "expect_column_values_to_not_be_null", kwargs={"column": "nope"}), '"nope"'),
    ],
)
def test_error_inside_an_expectation_is_a_critical_failure(bench: Bench, check: dict[str, Any], message: str) -> None:
    summary = bench.run(check | {"severity": "warning"}, PASSES)["own"]
    assert (summary["evaluated"], summary["passed"], summary["warned"], summary["failed"]) == (2, 1, 0, 1)
    assert message in summary["failures"][0]["observed"]
    assert summary["failures"][0]["severity"] == "critical"


@pytest.mark.parametrize(
    ("check", "message"),
    [
        (native("typo", "expect_colum_values"), "own/typo: cannot be built: expect_colum_values not found"),
        (native("typo", "expect_column_values_to_not_be_null", kwargs={"colum": "x"}), "own/typo: cannot be built: "),
        (PASSES | {"tables": ["core.nope"], "unexpected_rows": "from core.nope"}, "core.nope: own/passes cannot be "),
        (PASSES | {"severity": "fatal"}, "own.toml passes: Invalid enum value 'fatal' - at `$.severity`"),
    ],
)
def test_declaration_that_cannot_be_run_fails_the_audit(bench: Bench, check: dict[str, Any], message: str) -> None:
    with pytest.raises(AuditError, match=f"^{re.escape(message)}[^\n]*$"):
        bench.run(check)
    assert not (bench.folder / "expectation_results").exists()


def test_empty_suite_fails_the_audit(bench: Bench) -> None:
    (bench.folder / "own.toml").write_text("own = []", encoding="utf-8")
    with pytest.raises(AuditError, match=r"^own\.toml: suite 'own' is empty$"):
        bench.run(suite_file=str(bench.folder / "own.toml"))


@pytest.mark.parametrize(
    ("request_", "message"),
    [
        ({"suites": ["nope"]}, "there is no suite 'nope'"),
        ({"suites": []}, "no suite is requested"),
        ({"corpora": ["nope"]}, "nope/claims.toml: is missing"),
        ({"only": ["marts/nope"]}, "there is no expectation 'marts/nope' in the requested suites"),
        ({"database": "/nope.duckdb"}, "/nope.duckdb: no such database"),
        ({"sweets": "all"}, "the request is not valid: Object contains unknown field `sweets`"),
        ({"run_at": "today"}, "the request is not valid: Invalid RFC3339 encoded datetime - at `$.run_at`"),
    ],
)
def test_request_that_cannot_be_served_is_refused(bench: Bench, request_: dict[str, Any], message: str) -> None:
    with pytest.raises(AuditError, match=f"^{re.escape(message)}$"):
        bench.run(**request_)


def test_file_that_is_no_database_is_refused(bench: Bench) -> None:
    bench.database.write_text("not a database\n" * 1000, encoding="utf-8")
    with pytest.raises(AuditError, match=r"warehouse\.duckdb: cannot be opened: [^\n]*not a valid DuckDB database"):
        bench.run(PASSES)


def test_database_is_free_while_the_audit_waits(bench: Bench) -> None:
    bench.run(PASSES)
    bench.execute("drop table core.fct_turns")


# --- the types of Great Expectations that the suites use --------------------------------------------------------------


@dataclass(frozen=True)
class TypeCase:
    """An expectation on a table of (corpus, name, twin, first, last), a row that is well, and one that is not.

    `is_filtered` is for those that narrow their rows: the bad row must not matter when it is another corpus's.
    """

    kwargs: dict[str, Any]
    bad: str
    good: str = "('x', 'one', 'one', 1, 2)"
    is_filtered: bool = True


TYPE_CASES = {
    UNEXPECTED_ROWS: TypeCase({}, "('x', 'bad', 'one', 1, 2)", is_filtered=False),
    "expect_column_values_to_be_in_set": TypeCase(
        {"column": "name", "value_set": ["one"]}, "('x', 'two', 'one', 1, 2)"
    ),
    "expect_column_values_to_not_be_null": TypeCase({"column": "name"}, "('x', null, 'one', 1, 2)"),
    "expect_column_values_to_be_null": TypeCase(
        {"column": "name"}, "('x', 'one', 'one', 1, 2)", "('x', null, 'one', 1, 2)"
    ),
    "expect_column_values_to_be_unique": TypeCase({"column": "name"}, "('x', 'one', 'two', 3, 4)"),
    "expect_column_values_to_be_between": TypeCase(
        {"column": "first", "min_value": 0, "max_value": 1}, "('x', 'one', 'one', -1, 2)"
    ),
    "expect_column_value_lengths_to_equal": TypeCase({"column": "name", "value": 3}, "('x', 'four', 'one', 1, 2)"),
    "expect_column_value_lengths_to_be_between": TypeCase({"column": "name", "min_value": 1}, "('x', '', 'one', 1, 2)"),
    "expect_compound_columns_to_be_unique": TypeCase({"column_list": ["name", "first"]}, "('x', 'one', 'two', 1, 9)"),
    "expect_column_pair_values_to_be_equal": TypeCase(
        {"column_A": "name", "column_B": "twin"}, "('x', 'one', 'two', 1, 2)"
    ),
    "expect_column_pair_values_a_to_be_greater_than_b": TypeCase(
        {"column_A": "last", "column_B": "first"}, "('x', 'one', 'one', 2, 1)"
    ),
    "expect_column_pair_values_to_be_in_set": TypeCase(
        {"column_A": "name", "column_B": "twin", "value_pairs_set": [["one", "one"]]},
        "('x', 'one', 'two', 1, 2)",
        is_filtered=False,
    ),
    "expect_column_distinct_values_to_equal_set": TypeCase(
        {"column": "name", "value_set": ["one"]}, "('x', 'two', 'one', 1, 2)", is_filtered=False
    ),
    "expect_table_row_count_to_equal": TypeCase({"value": 1}, "('x', 'one', 'one', 1, 2)", is_filtered=False),
}


@pytest.fixture(scope="module")
def verdicts(audit: AuditProcess, tmp_path_factory: pytest.TempPathFactory) -> dict[str, bool]:
    """For each type: does it pass on a good table, on one with a bad row, on one with another corpus's bad row?"""
    bench = Bench(audit, tmp_path_factory.mktemp("types"))
    bench.execute("create schema core")
    checks = []
    for number, (kind, case) in enumerate(TYPE_CASES.items()):
        other = case.bad.replace("'x'", "'y'", 1)
        for state, rows in {"good": "", "bad": f", {case.bad}", "other": f", {other}"}.items():
            table = f"core.{state}_{number}"
            columns = "corpus, name, twin, first, last"
            bench.execute(f"create table {table} as from (values {case.good}{rows}) as t ({columns})")
            check: dict[str, Any] = {"id": f"{kind} {state}", "tables": [table]}
            if kind == UNEXPECTED_ROWS:
                check["unexpected_rows"] = "from {table} where corpus = 'x' and name = 'bad'"
            else:
                check |= {"type": kind, "kwargs": case.kwargs}
                check |= {"rows": {"corpus": "x"}} if case.is_filtered else {}
            checks.append(check)
    bench.run(*checks)
    return {identifier: success for _, _, identifier, _, _, success, *_ in bench.results()}


def test_every_type_in_use_has_a_case() -> None:
    assert {entry.type for suite in load_suites() for entry in suite.expectations} == {QUERY_ROWS, *TYPE_CASES}


def test_every_type_that_narrows_its_rows_is_tried_so() -> None:
    narrowed = {
        entry.type for suite in load_suites() for entry in suite.expectations if "row_condition" in entry.kwargs
    }
    assert [kind for kind in sorted(narrowed) if not TYPE_CASES[kind].is_filtered] == []


@pytest.mark.parametrize("kind", TYPE_CASES)
def test_type_passes_on_good_rows(kind: str, verdicts: dict[str, bool]) -> None:
    assert verdicts[f"{kind} good"]


@pytest.mark.parametrize("kind", TYPE_CASES)
def test_type_fails_on_a_bad_row(kind: str, verdicts: dict[str, bool]) -> None:
    assert not verdicts[f"{kind} bad"]


@pytest.mark.parametrize("kind", [kind for kind, case in TYPE_CASES.items() if case.is_filtered])
def test_type_leaves_other_rows_out(kind: str, verdicts: dict[str, bool]) -> None:
    assert verdicts[f"{kind} other"]


# --- the client -----------------------------------------------------------------------------------------------------


@pytest.fixture
def impostor(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """An audit process that runs a shell script instead."""

    def write(script: str) -> AuditProcess:
        path = tmp_path / "python"
        path.write_text(f"#!/bin/sh\n{script}\n", encoding="utf-8")
        path.chmod(0o755)
        monkeypatch.setattr(sys, "executable", str(path))
        return AuditProcess(timeout=1)

    yield write


@pytest.mark.parametrize(
    ("script", "message"),
    [
        ("echo 'first' >&2; echo 'the cause' >&2; exit 3", "the audit process ended with status 3: the cause"),
        ("echo hello; echo why >&2", "the audit process wrote 'hello', which is no answer: why"),
        ("echo '[]'", "the audit process wrote '[]', which is no answer"),
        ("echo '{\"ready\": true}'; read line; exit 4", "the audit process ended with status 4"),
        ('echo \'{"ready": true}\'; read line; echo \'{"error": "no"}\'; read line', "no"),
        ("exec sleep 30", "the audit process took longer than 1 seconds"),
    ],
)
def test_failure_of_the_process_is_told_in_one_line(impostor: Any, script: str, message: str) -> None:
    with impostor(script) as process, pytest.raises(AuditError, match=f"^{re.escape(message)}$"):
        process.run({})


def test_process_ends_with_its_client(impostor: Any) -> None:
    process = impostor("exec sleep 30")
    process.start()
    child = process._process
    process.close()
    assert child.poll() is not None


def test_nothing_but_the_protocol_reaches_standard_output(bench: Bench) -> None:
    code = """
import runpy, sys, types
stub = types.ModuleType("expectations.validation")
stub.ValidationError = RuntimeError
stub.validate = lambda *_: print("noise") or []
sys.modules["expectations.validation"] = stub
runpy.run_module("expectations.audit", run_name="__main__", alter_sys=True)
"""
    place = {"database": str(bench.database), "output": str(bench.folder)}
    request = place | {"suites": "all", "corpora": [], "build_id": "b1", "run_at": "2026-01-01T00:00:00"}
    done = subprocess.run(
        [sys.executable, "-c", code],
        input=f"{json.dumps(request)}\n{{}}\n",
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert [json.loads(line) for line in done.stdout.splitlines()] == [
        {"ready": True},
        {"suites": {}},
        {"error": "the request is not valid: Object missing required field `database`"},
    ]
    assert done.stderr == "noise\n"
    assert done.returncode == 1
