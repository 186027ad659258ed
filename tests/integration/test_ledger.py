"""The ledger on real data, on the sample and on the generated release at scale 1; and the commands that show it."""

from __future__ import annotations

import csv
import io
import json
import shutil
import subprocess
import sys
from pathlib import Path

import duckdb
import pytest

from dialogue_warehouse.corpora import registry
from dialogue_warehouse.corpora.claims import Claim, load_claims, read_claims
from dialogue_warehouse.paths import CLONE
from tests import fixtures
from tests.conftest import build_warehouse, run_command

CLAIMS = {claim.claim_id: claim for corpus_id in registry.corpus_ids() for claim in load_claims(corpus_id)}


def verdicts(database: Path) -> dict[str, tuple[str, bool | None, str | None]]:
    with duckdb.connect(str(database), read_only=True) as con:
        rows = con.execute("select claim_id, verdict, is_as_recorded, observed from quality.claim_checks").fetchall()
    return {claim_id: tuple(rest) for claim_id, *rest in rows}


@pytest.fixture(scope="module")
def scale_1(tmp_path_factory: pytest.TempPathFactory, scale_1_release: Path) -> Path:
    """Return the database of the generated release that has the true counts."""
    return build_warehouse(tmp_path_factory.mktemp("warehouse"), "--source", scale_1_release) / "dialogues.duckdb"


def test_claim_ids_are_unique_over_all_corpora() -> None:
    assert len(CLAIMS) == sum(len(load_claims(corpus_id)) for corpus_id in registry.corpus_ids())


def claims_of(corpus_id: str) -> dict[str, Claim]:
    return {claim.claim_id: claim for claim in load_claims(corpus_id)}


def verdicts_of(database: Path, corpus_id: str) -> dict[str, tuple[str, bool | None, str | None]]:
    own = claims_of(corpus_id)
    return {claim_id: found for claim_id, found in verdicts(database).items() if claim_id in own}


def test_every_verdict_is_about_a_claim(sample_warehouse: Path) -> None:
    assert set(verdicts(sample_warehouse)) == set(CLAIMS)


@pytest.mark.parametrize("corpus_id", registry.corpus_ids())
def test_every_claim_has_a_verdict(sample_warehouse: Path, corpus_id: str) -> None:
    found = verdicts_of(sample_warehouse, corpus_id)
    assert set(found) == set(claims_of(corpus_id))
    for claim_id, (verdict, is_as_recorded, _) in found.items():
        claim = CLAIMS[claim_id]
        if claim.not_checkable:
            assert verdict == "not_checkable"
        elif claim.is_exact:
            assert verdict in ("source_absent", "not_checkable"), claim_id
        elif verdict not in ("source_absent", "not_checkable"):
            assert (verdict, is_as_recorded) in {("reproduced", True), ("vacuous", None)}, claim_id


@pytest.mark.parametrize("corpus_id", registry.corpus_ids())
def test_at_scale_1_every_number_is_checked_and_agrees_with_the_ledger(scale_1: Path, corpus_id: str) -> None:
    found = verdicts_of(scale_1, corpus_id)
    wrong = {claim_id: found[claim_id] for claim_id in found if found[claim_id][1] is False}
    assert wrong == {}
    for claim_id, claim in claims_of(corpus_id).items():
        verdict, is_as_recorded, observed = found[claim_id]
        if claim.not_checkable or claim.real_only:
            assert verdict == "not_checkable", claim_id
            continue
        if verdict == "vacuous":  # the generator writes no row of the kind that the rule is about
            assert not claim.is_exact, claim_id
            continue
        assert is_as_recorded is True, (claim_id, verdict)
        assert verdict == ("refuted" if claim.recorded else "reproduced"), claim_id
        assert observed is not None, claim_id
    assert sum(verdict == "vacuous" for verdict, *_ in found.values()) <= 1


def test_at_scale_1_many_numbers_are_checked(scale_1: Path) -> None:
    found = verdicts(scale_1)
    assert len([claim for claim in CLAIMS.values() if claim.kind == "count" and found[claim.claim_id][1]]) > 100


@pytest.mark.parametrize("corpus_id", registry.corpus_ids())
def test_files_of_scale_1_are_about_as_large_as_the_published_ones(scale_1_release: Path, corpus_id: str) -> None:
    listed = {file.path: file.bytes for file in registry.load_corpus(corpus_id).files if file.bytes}
    files = {path: scale_1_release / corpus_id / path for path in listed}
    found = {path: file.stat().st_size for path, file in files.items() if file.exists()}
    assert set(listed) - set(found) == fixtures.load_or_default(corpus_id, "differences").NOT_GENERATED
    assert found == {path: pytest.approx(listed[path], rel=0.15) for path in found}


def test_at_scale_1_the_turn_counts_of_the_sgd_card_are_refuted(scale_1: Path) -> None:
    with duckdb.connect(str(scale_1), read_only=True) as con:
        (turns,) = con.execute("select count(*) from core.fct_turns where corpus_id = 'sgd'").fetchone()
        refuted = con.execute(
            """
            select claims.quote, checks.observed, checks.explanation
            from quality.claim_checks as checks
            inner join quality.claims as claims on checks.claim_id = claims.claim_id
            where claims.document = 'sgd_card.txt' and checks.verdict = 'refuted' and claims.description ilike '%turn%'
            """
        ).fetchall()
    assert turns == 463_284
    assert refuted
    assert any("329964" in observed or "463284" in observed for _, observed, _ in refuted)
    assert all(explanation.startswith("differs from the document, as recorded") for _, _, explanation in refuted)


def test_real_data_get_the_expected_verdicts(real_folder: Path) -> None:
    with duckdb.connect(str(real_folder / "dialogues.duckdb"), read_only=True) as con:
        rows = con.execute(
            """
            select claims.corpus_id, claims.quote, claims.expected, checks.observed, checks.verdict, checks.is_as_recorded
            from quality.claims as claims
            inner join quality.claim_checks as checks on claims.claim_id = checks.claim_id
            """
        ).fetchall()
    refuted = {
        (corpus_id, expected, observed)
        for corpus_id, _, expected, observed, verdict, as_recorded in rows
        if verdict == "refuted" and as_recorded
    }
    assert ("bbai", "1186", "1187") in refuted
    assert ("abcd", "125", "126") in refuted
    (table,) = [row for row in rows if row[0] == "bbai" and "44.09" in str(row[2]) and "48.06" in str(row[2])]
    assert table[4:] == ("reproduced", True)
    assert all(number in table[3] for number in ("44.09", "48.06", "32.04", "3.45"))
    assert [row for row in rows if row[5] is False] == []
    for corpus_id in ("sgd", "taskmaster1", "mutualfriends", "abcd"):
        assert "source_absent" in {row[4] for row in rows if row[0] == corpus_id}


COUNTS = [
    claim.claim_id
    for claim in CLAIMS.values()
    if claim.kind == "count" and not (claim.not_checkable or claim.real_only)
]


def spoilable(database: Path, folder: Path) -> duckdb.DuckDBPyConnection:
    """Return a copy of a database that tests can change."""
    shutil.copyfile(database, folder / "copy.duckdb")
    return duckdb.connect(str(folder / "copy.duckdb"))


@pytest.fixture(scope="module")
def small(sample_warehouse: Path, tmp_path_factory: pytest.TempPathFactory) -> duckdb.DuckDBPyConnection:
    return spoilable(sample_warehouse, tmp_path_factory.mktemp("small"))


@pytest.fixture(scope="module")
def large(scale_1: Path, tmp_path_factory: pytest.TempPathFactory) -> duckdb.DuckDBPyConnection:
    return spoilable(scale_1, tmp_path_factory.mktemp("large"))


def reads_its_table(con: duckdb.DuckDBPyConnection, claim_id: str) -> bool:
    """Return whether the number changes without the corpus's rows of the table."""
    claim = CLAIMS[claim_id]
    (table,) = [entry.table for _, entry in read_claims(claim.corpus_id).claims if entry.id == claim_id]
    before = con.execute(claim.query)
    names = [column[0] for column in before.description]
    assert len(set(names)) == len(names), f"{claim_id}: two columns of one name"
    rows = before.fetchall()
    columns = [name for name, *_ in con.execute(f"describe {table}").fetchall()]
    where = f" where corpus_id = '{claim.corpus_id}'" if "corpus_id" in columns else ""
    con.execute("begin")
    try:
        con.execute(f"delete from {table}{where}")
        return con.execute(claim.query).fetchall() != rows
    finally:
        con.execute("rollback")


@pytest.mark.parametrize("claim_id", COUNTS)
def test_the_query_of_a_number_reads_the_table_that_it_counts(small, large, claim_id: str) -> None:
    """On the sample, or at scale 1 if the sample is too small."""
    assert reads_its_table(small, claim_id) or reads_its_table(large, claim_id)


def test_claims_are_shown_filtered_and_complete(sample_folder: Path) -> None:
    shown = run_command("claims", "--warehouse", sample_folder, "--corpora", "bbai", "--json")
    assert shown.returncode == 0, shown.stderr
    claims = json.loads(shown.stdout)
    assert {claim["corpus_id"] for claim in claims} == {"bbai"}
    assert {claim["claim_id"] for claim in claims} == {c.claim_id for c in CLAIMS.values() if c.corpus_id == "bbai"}
    assert {"quote", "document", "locator", "expected", "observed", "verdict", "query", "explanation"} <= set(claims[0])
    table = run_command("claims", "--warehouse", sample_folder, "--verdict", "not_checkable", "--csv")
    rows = list(csv.DictReader(io.StringIO(table.stdout)))
    assert rows
    assert {row["verdict"] for row in rows} == {"not_checkable"}
    assert run_command("claims", "--warehouse", sample_folder, "--verdict", "perhaps").returncode == 2
    assert "B01" in run_command("claims", "--warehouse", sample_folder, "--corpora", "bbai").stdout
    (one,) = json.loads(run_command("claims", "--warehouse", sample_folder, "--claim", "B01", "--json").stdout)
    assert one == next(claim for claim in claims if claim["claim_id"] == "B01")


def by_files(folder: Path) -> dict[str, set[str]]:
    """Return the corpora whose claims were judged on published and on generated files, as the command prints them."""
    claims = json.loads(run_command("claims", "--warehouse", folder, "--json").stdout)
    found: dict[str, set[str]] = {}
    for claim in claims:
        found.setdefault(claim["judged_on"], set()).add(claim["corpus_id"])
    return found


def test_verdicts_on_generated_files_say_so(sample_folder: Path, real_folder: Path) -> None:
    """A sample has the numbers that it was made to have."""
    assert by_files(sample_folder) == {"generated": set(registry.corpus_ids())}
    assert set(by_files(real_folder)) == {"published"}
    assert "judged_on" in run_command("claims", "--warehouse", sample_folder, "--csv").stdout.splitlines()[0]


def test_each_claim_says_whose_words_it_quotes(sample_folder: Path) -> None:
    """Measurements that this project wrote down itself are not claims of the publisher."""
    claims = json.loads(run_command("claims", "--warehouse", sample_folder, "--json").stdout)
    voices = {claim["quotes_whom"] for claim in claims}
    assert voices == {"publisher", "paper", "other_project", "own_measurement"}
    own_notes = [claim for claim in claims if claim["document_title"].startswith("Not a document of the publisher")]
    assert len(own_notes) > 150
    assert {claim["document"] for claim in own_notes if claim["quotes_whom"] == "publisher"} <= {
        "verification_targets.md"
    }
    assert not [c for c in claims if c["document"] == "data_facts.md" and c["quotes_whom"] in ("publisher", "paper")]


def test_a_verdict_says_how_many_rows_it_is_about(sample_folder: Path) -> None:
    """Every verdict has the number, and no claim is reproduced without a row."""
    claims = json.loads(run_command("claims", "--warehouse", sample_folder, "--json").stdout)
    for claim in claims:
        judged = claim["verdict"] not in ("source_absent", "not_checkable")
        assert (claim["rows_tested"] is not None) == judged, claim["claim_id"]
        if judged:
            assert (claim["verdict"] == "vacuous") == (claim["rows_tested"] == 0), claim["claim_id"]


def test_property_by_design_is_not_a_defect(real_folder: Path) -> None:
    """Defects and properties are distinguished in rules, in cases, and in the counts of a corpus and a build."""
    rules = json.loads(run_command("violations", "--warehouse", real_folder, "--rules", "--json").stdout)
    by_design = {rule["rule_id"] for rule in rules if rule["kind"] == "property"}
    assert {"stray_vote_key", "uneven_ballot", "none_in_human", "question_without_example"} <= by_design
    assert {"unseen_service", "numbered_subflow"} <= by_design
    with duckdb.connect(str(real_folder / "dialogues.duckdb"), read_only=True) as con:
        kinds = con.execute("select distinct rule_id, kind from quality.violations").fetchall()
        counted = dict(con.execute("select kind, count(*) from quality.violations group by kind").fetchall())
        overview = con.execute(
            "select sum(violation_count), sum(property_count) from analytics.corpus_overview"
        ).fetchone()
        (of_build,) = con.execute(
            "select violation_count from quality.builds order by started_at desc limit 1"
        ).fetchone()
    assert {rule_id for rule_id, kind in kinds if kind == "property"} <= by_design
    assert not by_design & {rule_id for rule_id, kind in kinds if kind == "defect"}
    assert overview == (counted["defect"], counted["property"])
    assert of_build == counted["defect"]


def test_violations_are_shown_filtered_and_summarized(awkward_folder: Path) -> None:
    shown = run_command("violations", "--warehouse", awkward_folder, "--corpora", "sgd", "--json")
    assert shown.returncode == 0, shown.stderr
    cases = json.loads(shown.stdout)
    assert cases
    assert {case["corpus_id"] for case in cases} == {"sgd"}
    with duckdb.connect(str(awkward_folder / "dialogues.duckdb"), read_only=True) as con:
        verifications = con.execute("select distinct verification from core.dim_source_files where corpus_id = 'sgd'")
        is_generated = verifications.fetchall() == [("simulated",)]
    assert {case["is_generated"] for case in cases} == {is_generated}
    rule = cases[0]["rule_id"]
    narrowed = json.loads(run_command("violations", "--warehouse", awkward_folder, "--rule", rule, "--json").stdout)
    assert {case["rule_id"] for case in narrowed} == {rule}
    rules = json.loads(run_command("violations", "--warehouse", awkward_folder, "--rules", "--json").stdout)
    with duckdb.connect(str(awkward_folder / "dialogues.duckdb"), read_only=True) as con:
        counted = dict(con.execute("select rule_id, count(*) from quality.violations group by all").fetchall())
        by_corpus = con.execute("select corpus_id, rule_id, count(*) from quality.violations group by all").fetchall()
    of_corpora = {(corpus_id, rule_id): count for corpus_id, rule_id, count in by_corpus}
    totals = {entry["rule_id"]: entry["observed"] for entry in rules if entry["corpus_id"] is None}
    for entry in rules:
        if entry["corpus_id"] and entry["rule_id"] not in totals:
            key = entry["corpus_id"], entry["rule_id"]
            assert entry["observed"] == of_corpora.get(key, 0), key
    assert {rule_id: count for rule_id, count in totals.items() if count} == {
        rule_id: count for rule_id, count in counted.items() if rule_id in totals
    }
    assert set(counted) <= {entry["rule_id"] for entry in rules}


def test_rules_of_corpora_count_each_case_once(awkward_folder: Path) -> None:
    """Regression: a rule of all corpora was listed beside the corpus' own entry for it, with the same cases."""
    with duckdb.connect(str(awkward_folder / "dialogues.duckdb"), read_only=True) as con:
        counted = dict(con.execute("select corpus_id, count(*) from quality.violations group by all").fetchall())
    for corpora in (*((corpus,) for corpus in counted), tuple(counted)):
        ended = run_command(
            "violations", "--warehouse", awkward_folder, "--rules", "--json", "--corpora", ",".join(corpora)
        )
        assert sum(rule["observed"] for rule in json.loads(ended.stdout)) == sum(counted[name] for name in corpora)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("violations", "--rule", "no_rule"), "there is no rule 'no_rule'; `"),
        (("violations", "--corpora", "sgd,missing"), "missing: no such corpus; there are "),
        (("claims", "--claim", "S999"), "there is no claim 'S999'; `"),
        (("claims", "--corpora", "missing"), "missing: no such corpus; there are "),
    ],
)
def test_unknown_filter_value_is_rejected(sample_folder: Path, arguments: tuple[str, ...], message: str) -> None:
    refused = run_command(*arguments, "--warehouse", sample_folder)
    assert (refused.returncode, refused.stdout) == (2, "")
    assert refused.stderr.startswith(f"error: {message}")


def test_a_reader_may_stop_reading(sample_folder: Path) -> None:
    command = [sys.executable, "-m", "dialogue_warehouse", "sql", "--csv", "select range from range(100000)"]
    with subprocess.Popen(
        [*command, "--warehouse", str(sample_folder)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, cwd=CLONE
    ) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        assert process.stdout.readline().strip() == b"range"
        process.stdout.close()
        assert process.stderr.read() == b""
        assert process.wait() == 0
