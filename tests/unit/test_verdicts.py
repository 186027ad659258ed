"""Verdicts: what can be judged on a release, what comes of it, and when it is as the ledger says."""

from dataclasses import replace
from decimal import Decimal

import pytest

from dialogue_warehouse.corpora.claims import Claim, Defect
from expectations import verdicts
from expectations.verdicts import Basis, Measured, Release

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
DEFECT = Defect("blank", "defect", "toy", "Blank", "An utterance is blank.", None, 2, (), "Reported.", None, None)


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
        (WHOLE, replace(COUNT, not_checkable="nobody knows how"), "not_checkable"),
    ],
)
def test_a_claim_is_judged_only_where_it_can_be(release, claim, expected):
    early = verdicts.unjudged(claim, release)
    assert (early and early[0]) == expected
    if expected:
        assert verdict(claim, release) == (expected, None)


def test_what_lacks_is_said():
    assert WHOLE.lacks(()) is None
    assert PART.lacks(()) == "2 of 3 files are not there, such as b.json"
    assert SAMPLE.lacks(()) == "generated at scale 0.01, not at 1"
    changed = replace(WHOLE, verifications=WHOLE.verifications | {"b.json": "mismatch"})
    assert changed.lacks(()) == "b.json is not the file whose checksum is known"


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
    """T4: a verdict says how many rows it is about, and one about none is no success."""
    check = verdicts.check(claim, WHOLE, Measured(*measured), Basis(rows))
    assert (check.verdict, check.is_as_recorded, check.rows_tested) == (*expected, rows)


def test_refused_records_refute_what_no_row_breaks():
    """T3: landing keeps the culprits out of the tables, and the verdict sees them all the same."""
    refused = Basis(rows=2, refused=2, first_refused="a.json Expected `str` - at `$[3].text`")
    check = verdicts.check(INVARIANT, PART, Measured(True, '{"unexpected": 0}'), refused)
    assert (check.verdict, check.is_as_recorded, check.rows_tested) == ("refuted", False, 2)
    assert check.explanation == (
        "2 records that landing refused break it, the first: a.json Expected `str` - at `$[3].text`"
    )
    both = verdicts.check(INVARIANT, PART, Measured(False, '{"unexpected": 3}'), refused)
    assert both.explanation.startswith('broken: {"unexpected": 3}; 2 records that landing refused')


@pytest.mark.parametrize(("release", "files"), [(WHOLE, "published"), (PART, "published"), (SAMPLE, "generated")])
def test_a_verdict_says_whose_files_it_was_given_on(release, files):
    """T16: a number that the generator was tuned to is not one that the publisher's files have; unjudged ones too."""
    assert verdicts.check(INVARIANT, release, Measured(True, "{}"), TESTED).judged_on == files
    unjudged = replace(COUNT, not_checkable="nobody knows how")
    assert verdicts.check(unjudged, release, None, None).judged_on == files


def test_explanations_say_where_a_table_differs():
    grid = replace(COUNT, expected=[["train", 10, 1.5], ["test", 20, 2.5]])
    check = verdicts.check(grid, WHOLE, Measured(False, "{}", [["train", 10, 1.5], ["test", 21, 2.25]]), TESTED)
    assert check.explanation == "documented otherwise: test: 21 instead of 20; test: 2.25 instead of 2.5"
    assert check.observed == '[["train", 10, 1.5], ["test", 21, 2.25]]'
    known = verdicts.check(KNOWN, WHOLE, Measured(True, "{}", [[1187]]), TESTED)
    assert (known.observed, known.explanation) == (
        "1187",
        "not as documented, and known to be so: One was forgotten.",
    )
    changed = verdicts.check(KNOWN, WHOLE, Measured(False, "{}", [[1190]]), TESTED)
    assert changed.explanation == "not as recorded: 1190 instead of 1187; recorded: One was forgotten."


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
