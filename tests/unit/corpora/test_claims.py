"""Reading claims.toml, and the errors that are refused in it."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from dialogue_warehouse.corpora.claims import Claim, DeclarationError, load_claims, load_defects
from dialogue_warehouse.corpora.registry import corpus_ids
from dialogue_warehouse.corpora.suites import QUERY_ROWS, UNEXPECTED_ROWS, Expectation, load_corpus_suite
from dialogue_warehouse.paths import CLONE
from tests.unit.corpus_folders import LISTED, NUMBER, QUERY, RECORDED, corpus_folder
from tests.unit.sentences import DOCUMENTS

WORDS = ("zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve")


def test_claims_keep_their_places(tmp_path: Path) -> None:
    (claim,) = load_claims("toy", corpus_folder(tmp_path, {}))
    assert (claim.claim_id, claim.corpus_id, claim.kind) == ("X01", "toy", "invariant")
    assert (claim.quote, claim.document, claim.locator) == ("either A or B", "readme.txt", "Data")


def test_recorded_number_is_expected_before_the_documented_one(tmp_path: Path) -> None:
    (documented,) = load_corpus_suite("toy", corpus_folder(tmp_path, NUMBER)).expectations
    assert (documented.type, documented.kwargs["rows"]) == (QUERY_ROWS, [[2]])
    (recorded,) = load_corpus_suite("toy", corpus_folder(tmp_path, NUMBER | {"recorded": RECORDED})).expectations
    assert recorded.kwargs == {"query": "select count(*) from core.fct_turns", "rows": [[3]]}
    broken = {"type": None, "kwargs": None, "rows": None, "unexpected_rows": QUERY, "recorded": RECORDED}
    (invariant,) = load_corpus_suite("toy", corpus_folder(tmp_path, broken)).expectations
    assert invariant.kwargs["query"] == "select count(*) as unexpected from (select * from core.fct_turns)"
    assert invariant.kwargs["rows"] == [[3]]


def test_known_defects_are_read_and_guarded(tmp_path: Path) -> None:
    folder = corpus_folder(tmp_path, {})
    text = (folder / "claims.toml").read_text()
    entry = '[[defects]]\nid = "blank"\ntitle = "Blank"\ndescription = "d"\nwhy = "w"\nexpected = 2\n'
    (folder / "claims.toml").write_text(text + entry)
    (defect,) = load_defects("toy", folder)
    assert (defect.rule_id, defect.expected, defect.upstream) == ("blank", 2, None)
    guard = load_corpus_suite("toy", folder).expectations[-1]
    assert (guard.expectation_id, guard.claim_id, guard.severity) == ("defect:blank", None, "warning")
    assert guard.kwargs["rows"] == [[2]]
    assert guard.kwargs["query"].endswith("rule_id = 'blank' and corpus_id = 'toy'")
    (folder / "claims.toml").write_text(text + entry + 'files = ["a_*.json", "b.json"]\n')
    narrowed = load_corpus_suite("toy", folder).expectations[-1].kwargs["query"]
    assert narrowed.endswith(" and (source_file_id glob 'toy/a_*.json' or source_file_id glob 'toy/b.json')")
    (folder / "claims.toml").write_text(text + entry + entry)
    with pytest.raises(DeclarationError, match=r"^toy/claims\.toml blank: id occurs twice$"):
        load_defects("toy", folder)


BLANK = '[[defects]]\nid = "blank"\ntitle = "Blank"\ndescription = "d"\nwhy = "w"\n'


@pytest.mark.parametrize(
    ("entry", "numbers"),
    [
        ("", (None, None, None, None)),
        ("precision = { read = 3, right = [3, 3], agreed = 3 }", (3, 3, 3, 3)),
        ("expected = 2\nprecision = { read = 2, right = [2, 2], agreed = 2 }", (2, 2, 2, 2)),
        ("expected = 70\nprecision = { read = 40, right = [38, 39], agreed = 37 }", (40, 38, 39, 37)),
    ],
)
def test_precision_of_a_defect_is_read(tmp_path: Path, entry: str, numbers: tuple[int | None, ...]) -> None:
    folder = corpus_folder(tmp_path, {})
    (folder / "claims.toml").write_text((folder / "claims.toml").read_text() + BLANK + entry)
    (defect,) = load_defects("toy", folder)
    assert (defect.cases_read, defect.cases_right, defect.cases_right_again, defect.cases_agreed) == numbers


@pytest.mark.parametrize(
    ("entry", "message"),
    [
        ("precision = { read = 3, right = [3, 4], agreed = 2 }", "'precision' has 4 right cases of 3"),
        ("precision = { read = 0, right = [0, 0], agreed = 0 }", "Expected `int` >= 1 - at `$.precision.read`"),
        ("precision = { read = 3, agreed = 3 }", "Object missing required field `right` - at `$.precision`"),
        (
            "precision = { read = 3, right = [3], agreed = 3 }",
            "Expected `array` of length 2, got 1 - at `$.precision.right`",
        ),
        (
            "precision = { read = 40, right = [40, 39], agreed = 40 }",
            "'precision' cannot have 40 agreed cases of 40 with 40 and 39 right ones",
        ),
        (
            "precision = { read = 40, right = [39, 39], agreed = 39 }",
            "'precision' cannot have 39 agreed cases of 40 with 39 and 39 right ones",
        ),
        (
            "precision = { read = 40, right = [40, 37], agreed = 37 }",
            "'precision' is below 95%: improve the rule, or give it the kind property",
        ),
        (
            "precision = { read = 14, right = [10, 14], agreed = 10 }",
            "'precision' is below 95%: improve the rule, or give it the kind property",
        ),
        ("expected = 2\nprecision = { read = 1, right = [1, 1], agreed = 1 }", "'precision' needs 2 cases read, not 1"),
        (
            "expected = 70\nprecision = { read = 39, right = [39, 39], agreed = 39 }",
            "'precision' needs 40 cases read, not 39",
        ),
        (
            'kind = "property"\nprecision = { read = 1, right = [1, 1], agreed = 1 }',
            "'precision' is only for defects: every case of a property is right by definition",
        ),
    ],
)
def test_invalid_precision_is_rejected(tmp_path: Path, entry: str, message: str) -> None:
    folder = corpus_folder(tmp_path, {})
    (folder / "claims.toml").write_text((folder / "claims.toml").read_text() + BLANK + entry)
    with pytest.raises(DeclarationError, match=f"^{re.escape(f'toy/claims.toml blank: {message}')}$"):
        load_defects("toy", folder)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"quotation": '"x"'}, "toy/claims.toml X01: Object contains unknown field `quotation`"),
        ({"quote": None}, "toy/claims.toml X01: Object missing required field `quote`"),
        ({"quote": '""'}, "toy/claims.toml X01: Expected `str` of length >= 1 - at `$.quote`"),
        ({"why": '" "'}, "toy/claims.toml X01: Expected `str` matching regex '\\\\S' - at `$.why`"),
        ({"id": None}, "toy/claims.toml (no id): Object missing required field `id`"),
        ({"severity": '"fatal"'}, "toy/claims.toml X01: Invalid enum value 'fatal' - at `$.severity`"),
        ({"kind": '"guess"'}, "toy/claims.toml X01: Invalid enum value 'guess' - at `$.kind`"),
        ({"table": '"fct_turns"'}, "toy/claims.toml X01: Expected `str` matching regex"),
        ({"document": '"paper.pdf"'}, "toy/claims.toml X01: document 'paper.pdf' is not listed under [documents]"),
        ({"type": None}, "toy/claims.toml X01: needs either 'type' or 'unexpected_rows'"),
        (
            NUMBER | {"expected": "[[0, 694], [1, 3]]", "is_bound": "true"},
            "toy/claims.toml X01: 'is_bound' needs rows with different texts",
        ),
        ({"table": None}, "toy/claims.toml X01: needs a 'table'"),
        ({"expected": "3"}, "toy/claims.toml X01: 'expected' is only for counts"),
        ({"not_checkable": '"why"'}, "toy/claims.toml X01: is not checkable, but has 'type'"),
        (
            {"type": None, "kwargs": None, "rows": None, "not_checkable": '"why"', "tested": '"core.fct_turns"'},
            "toy/claims.toml X01: is not checkable, but has 'tested'",
        ),
        ({"quotes_whom": '"hearsay"'}, "toy/claims.toml X01: Invalid enum value 'hearsay' - at `$.quotes_whom`"),
        (
            {"recorded": RECORDED},
            "toy/claims.toml X01: 'recorded' of an invariant is the number of rows that 'unexpected_rows' returns",
        ),
        (
            {"kind": '"count"'},
            "toy/claims.toml X01: a count needs 'sql' and 'expected', and no other measurement",
        ),
        (NUMBER | {"expected": None}, "toy/claims.toml X01: a count needs 'sql' and 'expected'"),
        (NUMBER | {"expected": '"60"'}, "toy/claims.toml X01: 'expected' is the text '60': write the number without"),
        (NUMBER | {"sql": '"select 1"'}, "toy/claims.toml X01: 'sql' does not read core.fct_turns"),
        (NUMBER | {"recorded": "{ value = 3 }"}, "toy/claims.toml X01: Object missing required field `reason`"),
        ({"unexpected_rows": QUERY}, "toy/claims.toml X01: needs either 'type' or 'unexpected_rows'"),
        (
            {"type": None, "unexpected_rows": QUERY},
            "toy/claims.toml X01: 'kwargs' and 'rows' belong to a 'type', not to 'unexpected_rows'",
        ),
        (
            {"type": None, "kwargs": None, "rows": None, "unexpected_rows": '"select 1"'},
            "toy/claims.toml X01: 'unexpected_rows' does not read core.fct_turns",
        ),
        (
            {
                "type": None,
                "kwargs": None,
                "rows": None,
                "severity": '"critical"',
                "unexpected_rows": '"select 1 from core.fct_turns, core.source_extras"',
            },
            "toy/claims.toml X01: reads unknown keys or refused records, which only the publisher can add: ",
        ),
        (
            {"kwargs": '{ column = "x", row_condition = "y = 1" }'},
            "toy/claims.toml X01: write 'rows' instead of a row_condition in 'kwargs'",
        ),
        (
            {"type": '"expect_column_pair_values_to_be_in_set"'},
            "toy/claims.toml X01: Great Expectations ignores 'rows' with expect_column_pair_values_to_be_in_set",
        ),
    ],
)
def test_invalid_claim_is_rejected_in_one_line(tmp_path: Path, changes: dict[str, str | None], message: str) -> None:
    with pytest.raises(DeclarationError, match=f"^{re.escape(message)}[^\n]*$"):
        load_corpus_suite("toy", corpus_folder(tmp_path, changes))


def test_repeated_claim_is_rejected(tmp_path: Path) -> None:
    with pytest.raises(DeclarationError, match=r"^toy/claims\.toml X01: id occurs twice$"):
        load_corpus_suite("toy", corpus_folder(tmp_path, {}, {}))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (LISTED, "toy/claims.toml: suite 'toy' is empty"),
        (LISTED + "claims = 3", "toy/claims.toml document readme.txt: Object contains unknown field `claims`"),
        ("claims = 3", "toy/claims.toml: 'claims' is not an array of tables"),
        ("claims = [3]", "toy/claims.toml (no table): Expected `object`, got `int`"),
        ("[[claim]]\nid = 1", "toy/claims.toml: unknown key 'claim'"),
        ("documents = 1", "toy/claims.toml: 'documents' is not a table"),
    ],
)
def test_invalid_file_is_rejected_in_one_line(tmp_path: Path, text: str, message: str) -> None:
    (tmp_path / "claims.toml").write_text(text, encoding="utf-8")
    with pytest.raises(DeclarationError, match=f"^{re.escape(message)}$"):
        load_corpus_suite("toy", tmp_path)


def test_file_that_is_not_toml_is_rejected(tmp_path: Path) -> None:
    (tmp_path / "claims.toml").write_text("[[claims]", encoding="utf-8")
    with pytest.raises(DeclarationError, match=r"^toy/claims\.toml: [^\n]*line 1[^\n]*$"):
        load_corpus_suite("toy", tmp_path)


def test_missing_file_is_rejected(tmp_path: Path) -> None:
    with pytest.raises(DeclarationError, match=r"^toy/claims\.toml: is missing$"):
        load_corpus_suite("toy", tmp_path)


@pytest.mark.parametrize("corpus_id", corpus_ids())
def test_corpus_has_claims_of_every_kind(corpus_id: str) -> None:
    expectations = load_corpus_suite(corpus_id).expectations
    lacks = {"critical", "warning"} - {entry.severity for entry in expectations}
    assert not lacks, f"{corpus_id}/claims.toml: no claim has the severity {lacks.pop()}"
    kinds = {UNEXPECTED_ROWS: "invariant", QUERY_ROWS: "count"}
    lacks = {kind for of, kind in kinds.items() if of not in {entry.type for entry in expectations}}
    assert not lacks, f"{corpus_id}/claims.toml: no claim has the kind {lacks.pop()}"
    claimed = [entry for entry in expectations if entry.claim_id]
    form = rf"({corpus_id}_)?[A-Z]\d\d?(\.\d)?[a-z]?"
    assert [entry.expectation_id for entry in claimed if not re.fullmatch(form, entry.expectation_id)] == [], form


@pytest.mark.skipif(not DOCUMENTS.is_dir(), reason="the corpora's documents are not in the clone: DIALOGUE_DOCUMENTS")
@pytest.mark.parametrize("corpus_id", corpus_ids())
def test_quotes_are_the_documents_own_words(corpus_id: str) -> None:
    for claim in load_claims(corpus_id):
        if (DOCUMENTS / claim.document).exists():
            assert claim.quote in (DOCUMENTS / claim.document).read_text(encoding="utf-8"), claim.claim_id


@pytest.mark.parametrize("corpus_id", corpus_ids())
def test_claims_about_derived_columns_quote_the_dictionary(corpus_id: str) -> None:
    """The publisher says nothing about a column that this project derives."""
    dictionary = (CLONE / "warehouse" / "dictionary.md").read_text(encoding="utf-8")
    quoted = [claim for claim in load_claims(corpus_id) if claim.document == "dictionary.md"]
    for claim in quoted:
        assert claim.quote in dictionary, claim.claim_id
        assert claim.quotes_whom == "own_measurement"


def has_number(claim: Claim) -> bool:
    """Return whether the text of a claim has the single number that it expects, in digits or as a word."""
    if claim.kind != "count" or claim.expected is None or len(claim.expected) != 1 or len(claim.expected[0]) != 1:
        return True
    (number,) = claim.expected[0]
    if not isinstance(number, int | float):
        return True
    text = " ".join((claim.quote, claim.description, claim.why)).lower()
    word = WORDS[int(number)] if number in range(len(WORDS)) else None
    return str(number) in re.findall(r"\d+(?:\.\d+)?", text.replace(",", "")) or word in re.findall("[a-z]+", text)


@pytest.mark.parametrize("corpus_id", corpus_ids())
def test_number_of_a_claim_is_in_its_text(corpus_id: str) -> None:
    """A mistyped number is noticed before a release at scale 1 is built, and also if `simulate.py` repeats it."""
    path = f"{corpus_id}/claims.toml"
    wrong = [
        f"{path} {claim.claim_id}: expects {claim.expected[0][0]}, which is neither in quote, description nor why"
        for claim in load_claims(corpus_id)
        if not has_number(claim)
    ]
    assert wrong == []


@pytest.mark.parametrize(("quote", "is_there"), [("3 turns", True), ("Three turns", True), ("1,300 or 30", False)])
def test_number_that_a_claim_lacks_is_noticed(tmp_path: Path, quote: str, is_there: bool) -> None:
    (claim,) = load_claims("toy", corpus_folder(tmp_path, NUMBER | {"expected": "3", "quote": f'"{quote}"'}))
    assert has_number(claim) is is_there


@pytest.mark.all_corpora
def test_over_a_number_means_more_than_it_in_every_claim() -> None:
    """Regression: "over 18k" was refuted by 22,825, while "over 10K" was reproduced by 10,042."""
    read = {}
    for claim in (claim for corpus_id in corpus_ids() for claim in load_claims(corpus_id)):
        said = re.match(r"(?:The dataset contains )?over (\d+)k\b", claim.quote, flags=re.IGNORECASE)
        is_of_something_else = "distinct" in str(claim.query)  # which the same sentence counts
        if said and claim.kind == "count" and not is_of_something_else:
            read[claim.claim_id] = f"> {said[1]}000 then 'over" in str(claim.query)
    assert len(read) > 1
    assert [claim_id for claim_id, is_more in read.items() if not is_more] == []


def test_entry_or_its_document_says_whose_words_it_quotes(tmp_path: Path) -> None:
    """A note of this project that repeats a paper quotes the paper."""
    folder = corpus_folder(tmp_path, {}, {"id": '"X02"', "quotes_whom": '"paper"'})
    assert [claim.quotes_whom for claim in load_claims("toy", folder)] == ["publisher", "paper"]
    text = (folder / "claims.toml").read_text(encoding="utf-8")
    (folder / "claims.toml").write_text(text.replace('quotes_whom = "publisher"\n', ""), encoding="utf-8")
    with pytest.raises(DeclarationError, match=r"missing required field `quotes_whom`"):
        load_claims("toy", folder)


def reads_only(corpus_id: str, expectation: Expectation) -> bool:
    """Return whether an expectation only reads the rows of this corpus."""
    condition = json.dumps(expectation.kwargs.get("row_condition", {}))
    if expectation.type not in (QUERY_ROWS, UNEXPECTED_ROWS):
        return '"corpus_id"' in condition and f'"{corpus_id}"' in condition
    return f"'{corpus_id}" in expectation.kwargs["query"]


@pytest.mark.parametrize("corpus_id", corpus_ids())
def test_a_claim_is_about_its_own_corpus(corpus_id: str) -> None:
    """Another corpus may have the same tables, and says nothing about the claims of this corpus's documents."""
    expectations = load_corpus_suite(corpus_id).expectations
    assert [found.expectation_id for found in expectations if not reads_only(corpus_id, found)] == []


def test_a_claim_about_all_corpora_is_noticed(tmp_path: Path) -> None:
    (typed,) = load_corpus_suite("toy", corpus_folder(tmp_path, {"rows": None})).expectations
    assert not reads_only("toy", typed)
    (narrowed,) = load_corpus_suite("toy", corpus_folder(tmp_path, {})).expectations
    assert reads_only("toy", narrowed)
