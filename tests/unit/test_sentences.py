"""Every sentence of the documents has a claim, or is listed as one that needs none (section T, last paragraph).

`tests/fixtures/<corpus>/sentences.toml` is that list: each sentence that no claim quotes, with the claim that measures
it, or with the reason why it states neither a number nor a rule.
"""

from __future__ import annotations

import pytest

from dialogue_warehouse.corpora.claims import load_claims
from dialogue_warehouse.corpora.registry import corpus_ids
from tests import fixtures
from tests.unit.sentences import DOCUMENTS, Note, plain, problems, read_notes, sentences_of

DOCUMENT = """---
license:
- mit
---
# Calls ## Data The release has 20 calls, i.e. ten a day. Each call has
two speakers (see [1]).
- `speaker`: Either A or B. Never C.

| calls | 20 |
|-------|---:|
```json
{
  "calls": 20
}
```
"""
SENTENCES = [
    "license:", "- mit", "# Calls", "## Data The release has 20 calls, i.e. ten a day.",
    "Each call has two speakers (see [1]).", "- `speaker`: Either A or B.", "Never C.", "| calls | 20 |", "{",
    '"calls": 20', "}",
]  # fmt: skip
QUOTES = {"X01": "has 20 calls", "X02": "two speakers", "X03": "Either A or B. Never C."}
HEADER = Note("readme.txt", [("license:", "# Calls")], states_nothing="the header")
EXAMPLE = Note("readme.txt", ["| calls | 20", "{", '"calls": 20', "}"], claim="X01")


@pytest.mark.parametrize("corpus_id", corpus_ids())
def test_every_sentence_of_the_documents_is_claimed_or_states_nothing(corpus_id: str) -> None:
    claims = load_claims(corpus_id)
    notes = read_notes(fixtures.sentences_of(corpus_id))
    documents = sorted({claim.document for claim in claims if claim.quotes_whom == "publisher"})
    at_hand = [name for name in documents if (DOCUMENTS / name).is_file()]
    if not at_hand:
        pytest.skip(f"none of {', '.join(documents)} is in {DOCUMENTS}: DIALOGUE_DOCUMENTS")
    for name in at_hand:
        quotes = {claim.claim_id: claim.quote for claim in claims if claim.document == name}
        about = [note for note in notes if note.document == name]
        assert problems((DOCUMENTS / name).read_text(encoding="utf-8"), quotes, about) == [], name


@pytest.mark.parametrize("corpus_id", corpus_ids())
def test_quote_is_in_its_document_word_for_word(corpus_id: str) -> None:
    """Documents of this project lie beside the publishers', and are compared too."""
    folders = (DOCUMENTS, DOCUMENTS.parent)
    at_hand = {
        claim.document: path
        for claim in load_claims(corpus_id)
        for path in (folder / claim.document for folder in folders)
        if path.is_file()
    }
    if not at_hand:
        pytest.skip(f"no document is in {DOCUMENTS} or beside it: DIALOGUE_DOCUMENTS")
    texts = {name: plain(path.read_text(encoding="utf-8")) for name, path in at_hand.items()}
    wrong = [
        claim.claim_id
        for claim in load_claims(corpus_id)
        if claim.document in texts
        and not all(part.strip() in texts[claim.document] for part in plain(claim.quote).split("…"))
    ]
    assert wrong == []


@pytest.mark.parametrize("corpus_id", corpus_ids())
def test_note_names_an_existing_document_and_claim(corpus_id: str) -> None:
    claims = load_claims(corpus_id)
    notes = read_notes(fixtures.sentences_of(corpus_id))
    assert {note.document for note in notes} <= {claim.document for claim in claims}
    assert {note.claim for note in notes if note.claim} <= {claim.claim_id for claim in claims}


def test_document_is_split_into_separate_statements() -> None:
    assert sentences_of(DOCUMENT) == SENTENCES
    lost = "# Calls ## Data It has 20 calls. Each has: - _speaker_: A or B * Text (list) - 3 options ## Contact Write!"
    assert sentences_of(lost) == [
        "# Calls",
        "## Data It has 20 calls.",
        "Each has:",
        "- _speaker_: A or B",
        "* Text (list) - 3 options",
        "## Contact Write!",
    ]


def test_document_with_all_sentences_covered_has_no_problem() -> None:
    assert problems(DOCUMENT, QUOTES, [HEADER, EXAMPLE]) == []


@pytest.mark.parametrize(
    ("quotes", "notes", "problem"),
    [
        ({"X01": "has 20 calls", "X03": "Either A or B. Never C."}, [HEADER, EXAMPLE],
         "no claim and no note speaks of 'Each call has two speakers (see [1]).'"),
        (QUOTES | {"X03": "Either A or B."}, [HEADER, EXAMPLE], "no claim and no note speaks of 'Never C.'"),
        (QUOTES, [EXAMPLE, Note("readme.txt", [("license:", "- mit")], states_nothing="the header")],
         "no claim and no note speaks of '# Calls'"),
        (QUOTES | {"X04": "30 calls"}, [HEADER, EXAMPLE], "X04 quotes what is in no sentence"),
        (QUOTES, [HEADER, EXAMPLE, Note("readme.txt", ["Never C."], claim="X03")],
         "a claim quotes 'Never C.', and a note is about it"),
        (QUOTES, [HEADER, EXAMPLE, Note("readme.txt", ["Always C."], claim="X03")],
         "a note is about 'Always C.', which does not match exactly one sentence"),
        (QUOTES, [HEADER, EXAMPLE, Note("readme.txt", ["#"], states_nothing="a heading")],
         "a note is about '#', which does not match exactly one sentence"),
        (QUOTES, [HEADER, EXAMPLE, Note("readme.txt", [("license:", "Always C.")], claim="X03")],
         "a note is about '('license:', 'Always C.')', which does not match exactly one sentence"),
        (QUOTES, [HEADER, Note("readme.txt", EXAMPLE.texts)],
         "the note of '| calls | 20' needs either a claim or why it states nothing"),
        (QUOTES, [HEADER, Note("readme.txt", EXAMPLE.texts, claim="X01", states_nothing="an example")],
         "the note of '| calls | 20' needs either a claim or why it states nothing"),
    ],
)  # fmt: skip
def test_sentence_without_a_claim_and_note_that_is_stale_are_found(
    quotes: dict[str, str], notes: list[Note], problem: str
) -> None:
    assert problems(DOCUMENT, quotes, notes) == [problem]
