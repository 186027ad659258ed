"""The audit of a database: what it judges, what it answers, what it refuses."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from datetime import datetime
from pathlib import Path
from typing import Any

import duckdb
import pytest

from dialogue_warehouse.corpora.claims import load_claims
from dialogue_warehouse.corpora.registry import corpus_ids, load_corpus
from dialogue_warehouse.corpora.suites import QUERY_ROWS, load_corpus_suite
from expectations.client import AuditError, AuditProcess
from tests.unit import core_tables
from tests.unit.bench import FAILS, PASSES, Bench, native


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
            core_tables.insert(
                connection, "dim_corpora", {"corpus_id": corpus_id, "license": load_corpus(corpus_id).license}
            )
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
    assert {(row[2], row[4], row[6]) for row in checks} == {(None, None, None)}


def test_invariants_hold_where_there_is_no_row_and_all_of_them_are_vacuous(empty_files: Bench) -> None:
    """Not one is called reproduced on nothing, whatever it reads."""
    summary = empty_files.run()
    assert sorted(summary) == sorted([*corpus_ids(), "marts"])
    for corpus_id in corpus_ids():
        of_itself = sum(one.table == "core.dim_corpora" for one in load_corpus_suite(corpus_id).expectations)
        assert summary[corpus_id]["failures"] == []
        bounded = sum(claim.is_bound and not claim.files for claim in load_claims(corpus_id))
        assert summary[corpus_id]["verdicts"]["vacuous"] == summary[corpus_id]["evaluated"] - of_itself - bounded > 0
        assert summary[corpus_id]["verdicts"].get("reproduced", 0) == of_itself
        assert summary[corpus_id]["verdicts"].get("refuted", 0) == 0


@pytest.mark.parametrize("record", [{}, {"record_index": 0, "error": "Expected `str`, got `int` - at `$[0].uuid`"}])
def test_number_of_files_with_a_rejected_record_is_a_warning(
    audit: AuditProcess, tmp_path: Path, record: dict[str, Any]
) -> None:
    """The schema may reject a record of a file that this project has not seen: the other records must still be published."""
    bench = Bench(audit, tmp_path, ("mutualfriends",))
    with duckdb.connect(str(bench.database)) as connection:
        core_tables.create(connection)
        core_tables.insert(connection, "dim_corpora", {"corpus_id": "mutualfriends"})
        for file in load_corpus("mutualfriends").files:
            row = {"path": file.path, "sha256": file.sha256, "bytes": file.bytes, "verification": "verified"}
            core_tables.insert(connection, "dim_source_files", {"corpus_id": "mutualfriends", **row})
        if record:
            place = {"corpus_id": "mutualfriends", "source_file_id": "mutualfriends/train.json"}
            core_tables.insert(connection, "source_quarantine", place | record)
    failures = bench.run()["mutualfriends"]["failures"]
    severities = {failure["claim_id"]: failure["severity"] for failure in failures}
    known = "warning" if record else "critical"
    expected = {"M01": known, "M01b": "critical", "M01d": known}
    assert {claim_id: severities.get(claim_id) for claim_id in expected} == expected
    assert "M13" not in severities


def test_size_of_files_that_are_compressed_is_not_judged(audit: AuditProcess, tmp_path: Path) -> None:
    bench = Bench(audit, tmp_path, ("mutualfriends",))
    with duckdb.connect(str(bench.database)) as connection:
        core_tables.create(connection)
        core_tables.insert(connection, "dim_corpora", {"corpus_id": "mutualfriends"})
        for file in load_corpus("mutualfriends").files:
            row = {"path": file.path, "sha256": "of the copy", "bytes": 9, "verification": "verified"}
            core_tables.insert(connection, "dim_source_files", {"corpus_id": "mutualfriends", **row})
    assert "M13" not in {failure["claim_id"] for failure in bench.run()["mutualfriends"]["failures"]}


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
            ("set", True, '{"unexpected": 0, "of": 2}', "critical"),
        ]
    ]


def test_values_that_are_null_are_not_counted_among_those_judged(bench: Bench) -> None:
    in_set = native("set", "expect_column_values_to_be_in_set", kwargs={"value_set": ["A"]})
    bench.run(in_set, native("null", "expect_column_values_to_not_be_null"))
    assert [row[6] for row in bench.results()] == ['{"unexpected": 1, "of": 2}', '{"unexpected": 1, "of": 3}']


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


def test_file_that_is_not_a_database_is_refused(bench: Bench) -> None:
    bench.database.write_text("not a database\n" * 1000, encoding="utf-8")
    with pytest.raises(AuditError, match=r"warehouse\.duckdb: cannot be opened: [^\n]*not a valid DuckDB database"):
        bench.run(PASSES)


def test_database_is_free_while_the_audit_waits(bench: Bench) -> None:
    bench.run(PASSES)
    bench.execute("drop table core.fct_turns")


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
        [sys.executable, "-c", code, str(os.getpid())],
        input=f"{json.dumps(request)}\n{{}}\n",
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    answers = [json.loads(line) for line in done.stdout.splitlines()]
    assert answers[1].pop("seconds") >= 0
    assert answers == [
        {"ready": True},
        {"suites": {}},
        {"error": "the request is not valid: Object missing required field `database`"},
    ]
    assert done.stderr == "noise\n"
    assert done.returncode == 1
