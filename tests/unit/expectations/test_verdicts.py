"""Verdicts: what can be judged on a release, the rows that a claim reads, and refused records that refute it.

The refusals are those of landing: each place of each file of the hand-written releases is made wrong in turn.
"""

import copy
import csv
import io
import json
import re
from collections.abc import Iterator
from dataclasses import replace
from decimal import Decimal
from functools import cache
from pathlib import Path
from typing import Any

import duckdb
import pytest

from dialogue_warehouse.corpora import registry
from dialogue_warehouse.corpora.claims import Claim, Defect, exceeds, load_claims, read_claims
from dialogue_warehouse.errors import InputError
from dialogue_warehouse.storage.landed import Landed
from expectations import verdicts
from expectations.client import AuditProcess
from expectations.verdicts import Basis, Measured, Release, count_basis, rows_query
from pipelines.ingestion.checking import RecordCheck
from tests import fixtures
from tests.unit import core_tables
from tests.unit.bench import Bench
from tests.unit.corpus_folders import corpus_folder

COUNT = Claim(
    claim_id="X01",
    corpus_id="toy",
    quote="There are 1,186.",
    document="readme.txt",
    document_title="README",
    document_url=None,
    locator="Data",
    quotes_whom="publisher",
    kind="count",
    severity="critical",
    description="How many there are.",
    why="They are counted.",
    expected=[[1186]],
    recorded=None,
    recorded_reason=None,
    query="select count(*) from core.fct_turns",
    refused=None,
    files=(),
    is_recalled=False,
    real_only=None,
    not_checkable=None,
)
INVARIANT = replace(COUNT, kind="invariant", expected=[[0]])
KNOWN = replace(COUNT, recorded=[[1187]], recorded_reason="One was forgotten.")
BROKEN = replace(INVARIANT, recorded=[[18]], recorded_reason="Eighteen calls.")
LISTED = frozenset({"a.json", "b.json", "docs/c.json"})
WHOLE = Release("toy", dict.fromkeys(LISTED, "verified"), LISTED)
PART = Release("toy", {"a.json": "verified"}, LISTED)
NOTHING = Release("toy", {}, LISTED)
GENERATED = Release("toy", dict.fromkeys(LISTED, "simulated"), LISTED, scale=1)
SAMPLE = replace(GENERATED, scale=0.01)
DEFECT = Defect(
    "blank", "defect", "toy", "Blank", "An utterance is blank.", None, 2, (), "Reported.", None, None, None, None
)


TESTED = Basis(rows=40)


def verdict(claim, release, *measured, tested=TESTED):
    check = verdicts.check(claim, release, Measured(*measured) if measured else None, tested)
    return check.verdict, check.is_as_recorded


@pytest.mark.parametrize(
    ("release", "claim", "expected"),
    [
        (WHOLE, COUNT, None),
        (GENERATED, COUNT, None),
        (PART, COUNT, "source_absent"),
        (SAMPLE, COUNT, "source_absent"),
        (NOTHING, COUNT, "source_absent"),
        (replace(WHOLE, verifications=WHOLE.verifications | {"b.json": "mismatch"}), COUNT, "source_absent"),
        (PART, replace(COUNT, files=("a.json",)), None),
        (PART, replace(COUNT, files=("*.json",)), "source_absent"),
        (PART, replace(COUNT, files=("z.json",)), "source_absent"),
        (PART, INVARIANT, None),
        (SAMPLE, INVARIANT, None),
        (NOTHING, INVARIANT, "source_absent"),
        (PART, replace(INVARIANT, files=("b.json",)), "source_absent"),
        (PART, BROKEN, "source_absent"),
        (WHOLE, BROKEN, None),
        (WHOLE, replace(COUNT, real_only="its words"), None),
        (GENERATED, replace(COUNT, real_only="its words"), "not_checkable"),
        (WHOLE, replace(COUNT, not_checkable="the method is unknown"), "not_checkable"),
    ],
)
def test_a_claim_is_judged_only_where_it_can_be(release, claim, expected):
    early = verdicts.unjudged(claim, release)
    assert (early and early[0]) == expected
    if expected:
        assert verdict(claim, release) == (expected, None)


def test_what_lacks_is_said():
    assert WHOLE.lacks(()) is None
    assert PART.lacks(()) == "2 of 3 files are missing, such as b.json"
    assert SAMPLE.lacks(()) == "generated at scale 0.01, not at scale 1"
    changed = replace(WHOLE, verifications=WHOLE.verifications | {"b.json": "mismatch"})
    assert changed.lacks(()) == "b.json does not have the known checksum"
    added = replace(WHOLE, verifications=WHOLE.verifications | {"d.json": "unlisted"})
    assert added.lacks(()) == added.lacks(("*.json",)) == "d.json is not a file of the release"
    assert added.lacks(("a.json",)) is None


def test_size_of_a_compressed_copy_is_not_the_publishers():
    packed = replace(WHOLE, compressed=frozenset({"b.json"}))
    size = replace(COUNT, query="select sum(bytes) from core.dim_source_files")
    reason = "b.json is compressed, so its size and checksum are not the publisher's"
    assert verdicts.unjudged(size, packed) == ("source_absent", reason)
    assert verdicts.unjudged(replace(size, files=("a.json",)), packed) is None
    assert verdicts.unjudged(size, WHOLE) is None
    assert verdicts.unjudged(COUNT, packed) is None


def test_number_that_lacks_rejected_records_says_so():
    refused = replace(WHOLE, refused=frozenset({"b.json"}))
    measured = Measured(False, "{}", [[1185]])
    note = "; rejected records of its files are not counted"
    assert verdicts.check(COUNT, refused, measured, TESTED).explanation.endswith(note)
    assert not verdicts.check(replace(COUNT, files=("a.json",)), refused, measured, TESTED).explanation.endswith(note)
    assert not verdicts.check(COUNT, WHOLE, measured, TESTED).explanation.endswith(note)


@pytest.mark.parametrize(
    ("claim", "rows", "success", "expected"),
    [
        (COUNT, [[1186]], True, ("reproduced", True)),
        (COUNT, [[1187]], False, ("refuted", False)),
        (COUNT, [], False, ("refuted", False)),
        (KNOWN, [[1187]], True, ("refuted", True)),
        (KNOWN, [[1186]], False, ("reproduced", False)),
        (KNOWN, [[1188]], False, ("refuted", False)),
        (BROKEN, [[18]], True, ("refuted", True)),
        (BROKEN, [[0]], False, ("reproduced", False)),
        (BROKEN, [[19]], False, ("refuted", False)),
    ],
)
def test_a_number_is_reproduced_or_refuted_and_so_as_recorded_or_not(claim, rows, success, expected):
    assert verdict(claim, WHOLE, success, "{}", rows) == expected


AT_MOST = replace(BROKEN, is_bound=True)
ROLES = replace(COUNT, expected=[["system"]], recorded=[["system"], ["user"]], recorded_reason="Both.", is_bound=True)


@pytest.mark.parametrize(
    ("claim", "rows", "expected"),
    [
        (AT_MOST, [[0]], ("source_absent", None)),
        (AT_MOST, [[1]], ("refuted", True)),
        (AT_MOST, [[18]], ("refuted", True)),
        (AT_MOST, [[19]], ("refuted", False)),
        (replace(COUNT, is_bound=True), [[1186]], ("source_absent", None)),
        (replace(COUNT, is_bound=True), [[1187]], ("refuted", False)),
        (ROLES, [["system"]], ("source_absent", None)),
        (ROLES, [], ("source_absent", None)),
        (ROLES, [["user"]], ("refuted", True)),
        (ROLES, [["system"], ["bot"]], ("refuted", False)),
    ],
)
def test_part_of_a_release_refutes_a_claim_that_it_exceeds(claim, rows, expected):
    """It never reproduces one: the missing files may have the other rows. The whole release is judged as before."""
    success = not exceeds(rows, claim.recorded or claim.expected)
    assert verdict(claim, PART, success, "{}", rows) == expected
    assert verdicts.is_bounded(claim, PART)
    assert not any(verdicts.is_bounded(claim, release) for release in (WHOLE, GENERATED, SAMPLE))
    assert verdict(claim, SAMPLE) == ("source_absent", None)
    refused = Basis(rows=2, refused=1, first_refused="a.json Expected `str` - at `$[3].text`")
    assert verdict(claim, PART, success, "{}", rows, tested=refused) == ("refuted", False)


@pytest.mark.parametrize(
    ("files", "reason"),
    [
        ({"a.json": "verified"}, "2 of 3 files are missing, such as b.json"),
        (dict.fromkeys(LISTED, "verified") | {"b.json": "mismatch"}, "b.json does not have the known checksum"),
        (dict.fromkeys(LISTED, "verified") | {"d.json": "unlisted"}, "d.json is not a file of the release"),
    ],
)
def test_explanation_of_an_excess_says_why_the_files_are_not_the_release(files, reason):
    """Regression: a changed file and one too many were called a part of the release."""
    checked = verdicts.check(AT_MOST, Release("toy", files, LISTED), Measured(True, "{}", [[1]]), Basis(20))
    assert checked.explanation == (
        f"more than the document says, in files that are not the complete release ({reason}), as recorded: "
        "Eighteen calls."
    )


@pytest.mark.parametrize(
    ("observed", "is_more"),
    [
        ([["a", 1], ["b", 2]], False),
        ([["b", 2]], False),
        ([["a", 0.5]], False),
        ([["a", 2]], True),
        ([["c", 0]], True),
        ([["a", None]], True),
        ([["a", 1, 1]], True),
    ],
)
def test_table_exceeds_another_by_a_row_or_a_number(observed, is_more):
    assert exceeds(observed, [["a", 1], ["b", 2]]) is is_more


def test_an_invariant_follows_its_expectation():
    assert verdict(INVARIANT, PART, True, '{"unexpected": 0}') == ("reproduced", True)
    assert verdict(INVARIANT, PART, False, '{"unexpected": 3}') == ("refuted", False)


@pytest.mark.parametrize(
    ("claim", "measured", "rows", "expected"),
    [
        (INVARIANT, (True, "{}"), 0, ("vacuous", None)),
        (INVARIANT, (True, "{}"), 1, ("reproduced", True)),
        (INVARIANT, (False, "{}"), 0, ("refuted", False)),
        (replace(COUNT, expected=[[0]]), (True, "{}", [[0]]), 0, ("vacuous", None)),
        (COUNT, (False, "{}", [[0]]), 0, ("refuted", False)),
        (KNOWN, (True, "{}", [[1187]]), 0, ("refuted", True)),
    ],
)
def test_what_holds_of_nothing_is_vacuous_and_not_reproduced(claim, measured, rows, expected):
    """A verdict says how many rows it is about, and a verdict about no rows is not a success."""
    check = verdicts.check(claim, WHOLE, Measured(*measured), Basis(rows))
    assert (check.verdict, check.is_as_recorded, check.rows_tested) == (*expected, rows)


def test_refused_records_refute_what_no_row_breaks():
    """Landing keeps the refused records out of the tables, but the verdict counts them."""
    refused = Basis(rows=2, refused=2, first_refused="a.json Expected `str` - at `$[3].text`")
    check = verdicts.check(INVARIANT, PART, Measured(True, '{"unexpected": 0}'), refused)
    assert (check.verdict, check.is_as_recorded, check.rows_tested) == ("refuted", False, 2)
    assert check.explanation == (
        "rejected records that break the claim: 2, the first: a.json Expected `str` - at `$[3].text`"
    )
    both = verdicts.check(INVARIANT, PART, Measured(False, '{"unexpected": 3}'), refused)
    assert both.explanation.startswith('contradicted: {"unexpected": 3}; rejected records that break the claim: 2')


@pytest.mark.parametrize(("release", "files"), [(WHOLE, "published"), (PART, "published"), (SAMPLE, "generated")])
def test_a_verdict_says_whose_files_it_was_given_on(release, files):
    """A number that the generator was tuned to is not one that the publisher's files have; unjudged ones too."""
    assert verdicts.check(INVARIANT, release, Measured(True, "{}"), TESTED).judged_on == files
    unjudged = replace(COUNT, not_checkable="the method is unknown")
    assert verdicts.check(unjudged, release, None, None).judged_on == files


def test_explanations_say_where_a_table_differs():
    grid = replace(COUNT, expected=[["train", 10, 1.5], ["test", 20, 2.5]])
    check = verdicts.check(grid, WHOLE, Measured(False, "{}", [["train", 10, 1.5], ["test", 21, 2.25]]), TESTED)
    assert check.explanation == "differs from the document: test: 21 instead of 20; test: 2.25 instead of 2.5"
    assert check.observed == '[["train", 10, 1.5], ["test", 21, 2.25]]'
    known = verdicts.check(KNOWN, WHOLE, Measured(True, "{}", [[1187]]), TESTED)
    assert (known.observed, known.explanation) == (
        "1187",
        "differs from the document, as recorded: One was forgotten.",
    )
    changed = verdicts.check(KNOWN, WHOLE, Measured(False, "{}", [[1190]]), TESTED)
    assert changed.explanation == "differs from the record: 1190 instead of 1187; recorded: One was forgotten."


@pytest.mark.parametrize(
    ("observed", "expected", "equal"),
    [
        ([[1]], [[1.0]], True),
        ([[0.1 + 0.2]], [[0.3]], True),
        ([[1]], [["1"]], False),
        ([[1, 2]], [[1]], False),
        ([[1], [2]], [[1]], False),
        ([["a", None]], [["a", None]], True),
        ([], [[0]], False),
    ],
)
def test_tables_are_equal_cell_by_cell(observed, expected, equal):
    assert verdicts.same_rows(observed, expected) is equal


def test_values_of_the_database_become_plain_cells():
    assert verdicts.plain(Decimal("3")) == 3
    assert isinstance(verdicts.plain(Decimal("3")), int)
    assert verdicts.plain(Decimal("3.25")) == 3.25
    assert verdicts.plain(["a"]) == "['a']"
    assert verdicts.plain(None) is None


def test_a_defect_is_guarded_on_the_genuine_release_alone():
    assert verdicts.is_guarded(DEFECT, WHOLE)
    assert not verdicts.is_guarded(DEFECT, PART)
    assert verdicts.is_guarded(replace(DEFECT, files=("a.json",)), PART)
    assert not verdicts.is_guarded(DEFECT, GENERATED)


def test_what_cannot_be_judged_is_skipped():
    claims = [COUNT, replace(INVARIANT, claim_id="X02")]
    assert verdicts.expectations_to_skip(claims, [DEFECT], {"toy": PART}) == {"toy/X01", "toy/defect:blank"}
    assert verdicts.expectations_to_skip(claims, [DEFECT], {"toy": WHOLE}) == set()


CORPORA = registry.corpus_ids()
WITH_REFUSALS = [claim for corpus_id in CORPORA for claim in load_claims(corpus_id) if claim.refused]
ITEMS = 6
"""Items of a list that are made wrong."""
WRONG = [{"wrong": [{}]}]
"""No value of any schema: neither the type of a scalar, nor of an item, nor of a member."""


def spoiled(document: Any) -> Iterator[Any]:
    """The document with a place of it taken out or made wrong, for each place; the document itself is the same after."""
    members: list[Any] = list(document) if isinstance(document, dict) else []
    members = list(range(min(ITEMS, len(document)))) if isinstance(document, list) else members
    for member in members:
        value = document[member]
        for wrong in (WRONG, None):
            document[member] = wrong
            yield None
        document[member] = value
        if isinstance(document, dict):
            kept = dict(document)
            del document[member]
            yield None
            document.clear()
            document.update(kept)
        else:
            document.append(copy.deepcopy(value))  # one item more than the record says elsewhere
            yield None
            document.pop()
        yield from spoiled(value)


@cache
def refusals(corpus_id: str) -> tuple[str, ...]:
    """Path and error of each record of the hand-written release that landing refuses when a place of it is wrong."""
    corpus, folder = registry.load_corpus(corpus_id), fixtures.release_of(corpus_id)
    found: dict[str, None] = {}
    for path in sorted(path for path in folder.rglob("*") if path.is_file()):
        plain = path.relative_to(folder).as_posix()
        names = [(entity, name) for name in (plain, f"{plain}.gz") for entity in corpus.entities]
        entity, name = next((entity, name) for entity, name in names if re.fullmatch(entity.pattern, name))
        landed = Landed(corpus_id, entity.name, name, None, None, 0, "", "unlisted", 0, "")
        for text in spoiled_files(path):
            check = RecordCheck(entity, landed, None)
            try:
                check.run(text, None)
            except InputError:  # the file as a whole is refused: nothing is published of it
                continue
            found.update(dict.fromkeys(f"{name} {record['error']}" for record in check.quarantine))
    return tuple(found)


def spoiled_files(path: Path) -> Iterator[bytes]:
    """The contents of a file, each with another place made wrong."""
    content = path.read_bytes()
    if path.suffix in (".csv", ".tsv"):
        yield from spoiled_lines(content, "," if path.suffix == ".csv" else "\t")
    elif path.suffix == ".jsonl":
        records = [json.loads(line) for line in content.splitlines()]
        for _ in spoiled(records):
            yield "\n".join(map(json.dumps, records)).encode()
    else:
        document = json.loads(content)
        for _ in spoiled(document):
            yield json.dumps(document).encode()


def spoiled_lines(content: bytes, separator: str) -> Iterator[bytes]:
    """The content of a file with values between separators, each with another line or value made wrong."""
    yield from (content.replace(separator.encode(), b""), b"\n" + content, content + b"a,b,c\n")
    lines = list(csv.reader(io.StringIO(content.decode(), newline=""), delimiter=separator))
    for line in lines:
        for place, value in enumerate(line):
            line[place] = "wrong value"
            written = io.StringIO(newline="")
            csv.writer(written, delimiter=separator, lineterminator="\n").writerows(lines)
            yield written.getvalue().encode()
            line[place] = value


def matching(claim: Claim) -> list[str]:
    found = "select list_filter(?::varchar[], lambda refusal: regexp_matches(refusal, ?))"
    with duckdb.connect() as con:
        return con.execute(found, [list(refusals(claim.corpus_id)), claim.refused]).fetchall()[0][0]


@pytest.mark.parametrize("claim", WITH_REFUSALS, ids=lambda claim: f"{claim.corpus_id}/{claim.claim_id}")
def test_a_claim_names_refusals_that_landing_gives_and_not_all_of_them(claim: Claim) -> None:
    """An expression that no refusal matches would always be true."""
    found = matching(claim)
    assert found
    assert len(found) < len(refusals(claim.corpus_id))


@pytest.fixture(scope="module")
def refused(audit: AuditProcess, tmp_path_factory: pytest.TempPathFactory) -> Bench:
    """No row of any corpus, but a refused record that breaks each of the claims about a form."""
    bench = Bench(audit, tmp_path_factory.mktemp("refused"), CORPORA)
    with duckdb.connect(str(bench.database)) as connection:
        core_tables.create(connection)
        for corpus_id in CORPORA:
            core_tables.insert(connection, "dim_corpora", {"corpus_id": corpus_id})
            file = {"corpus_id": corpus_id, "path": "other.json", "verification": "unlisted"}
            core_tables.insert(connection, "dim_source_files", file)
        for claim in WITH_REFUSALS:
            path, _, error = matching(claim)[0].partition(" ")
            record = {"corpus_id": claim.corpus_id, "source_file_id": f"{claim.corpus_id}/{path}", "error": error}
            core_tables.insert(connection, "source_quarantine", record)
    return bench


@pytest.mark.all_corpora
def test_a_claim_whose_culprits_landing_quarantined_is_refuted(refused: Bench) -> None:
    """S17, S15b, B02b, M11 and M09c were reproduced beside such records, and so was every other of this kind."""
    refused.run()
    with duckdb.connect() as connection:
        checks = connection.execute(
            f"select claim_id, verdict, is_as_recorded, rows_tested, explanation "
            f"from '{refused.folder}/claim_checks/results.parquet'"
        ).fetchall()
    found = {claim_id: rest for claim_id, *rest in checks}
    judged = {claim.claim_id for claim in WITH_REFUSALS if found[claim.claim_id][0] != "source_absent"}
    assert len(judged) > len(WITH_REFUSALS) / 2
    for claim_id in judged:
        verdict, is_as_recorded, rows_tested, explanation = found[claim_id]
        assert (verdict, is_as_recorded) == ("refuted", False), claim_id
        assert rows_tested > 0
        assert "rejected records that break the claim" in explanation
    others = [
        claim_id for claim_id, (_, _, _, reported) in found.items() if claim_id not in judged and "rejected" in reported
    ]
    assert not [claim_id for claim_id in others if "rejected records that break the claim" in found[claim_id][3]]


@pytest.mark.parametrize(
    ("changes", "query"),
    [
        ({}, "select count(*) from core.fct_turns where corpus_id = 'toy' and \"source_speaker\" is not null"),
        (
            {"rows": '{ corpus_id = "toy", role = ["user", "peer"], event_type = "it\'s" }', "kwargs": None},
            "select count(*) from core.fct_turns where corpus_id = 'toy' and \"role\" in ('user', 'peer') "
            "and \"event_type\" in ('it''s')",
        ),
        (
            {"type": '"expect_column_values_to_be_null"'},
            "select count(*) from core.fct_turns where corpus_id = 'toy'",
        ),
        ({"tested": '"core.fct_turns where false"'}, "select count(*) from core.fct_turns where false"),
        ({"type": None, "kwargs": None, "rows": None, "not_checkable": '"why"'}, None),
    ],
)
def test_rows_of_a_claim_are_those_that_it_reads(tmp_path: Path, changes: dict[str, Any], query: str | None) -> None:
    """Only rows that could have broken the claim are counted."""
    ((_, entry),) = read_claims("toy", corpus_folder(tmp_path, changes)).claims
    assert rows_query("toy", entry) == query


def test_rows_and_refusals_of_its_own_corpus_alone_are_counted(tmp_path: Path) -> None:
    ((claim, entry),) = read_claims("toy", corpus_folder(tmp_path, {"refused": '"speaker"'})).claims
    with duckdb.connect() as connection:
        core_tables.create(connection)
        for corpus_id in ("toy", "toy", "other"):
            core_tables.insert(connection, "fct_turns", {"corpus_id": corpus_id, "source_speaker": "A"})
        core_tables.insert(connection, "fct_turns", {"corpus_id": "toy", "source_speaker": None})
        for corpus_id, error in (("toy", "`speaker`"), ("toy", "`text`"), ("other", "`speaker`")):
            record = {"corpus_id": corpus_id, "source_file_id": f"{corpus_id}/a.json", "error": error}
            core_tables.insert(connection, "source_quarantine", record)
        tested = count_basis(connection, [claim], {claim.claim_id: rows_query("toy", entry)})
    assert tested == {claim.claim_id: Basis(rows=3, refused=1, first_refused="a.json `speaker`")}
