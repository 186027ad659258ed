"""Split a corpus's document into its sentences, and list those without a claim or an entry in the corpus's list.

A sentence is a separate statement: a sentence of prose, an item of a list, a row of a table, a line of a YAML card or
of an example. What does not belong here: which sentences need no claim; `sentences.toml` of each corpus says that.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path

from msgspec import Struct, toml

from dialogue_warehouse.paths import CLONE

DOCUMENTS = Path(os.environ.get("DIALOGUE_DOCUMENTS") or CLONE.parent / "shared" / "documents")
"""The documents that the claims quote; they are not part of the clone."""
LITERAL = re.compile(r"^```\w*\n.*?^```$|^---\n.*?^---$", flags=re.M | re.S)
"""An example or a YAML card, where each line is a sentence."""
CONTINUED = re.compile(r"(?<![.:;?!|}\n])\n(?=[a-z])")
"""A line break inside a sentence."""
STOP = r"(?:(?<=[.?!])|(?<=[.?!][\"')]))(?<!\bi\.e\.)(?<!\be\.g\.)(?<!\bal\.)(?<!\n\d\.)"
END = re.compile(rf"\n|{STOP}\s+(?=[A-Z_`\"'(!\[])|\s+(?=- _|\* [A-Z]|#+ [A-Z]|```)")
"""The end of a sentence, also in a document that lost its line breaks."""
WITHOUT_WORDS = re.compile(r"[\s`|:#-]*(```\w*)?")
"""A fence, a rule, an empty line."""


class Note(Struct, forbid_unknown_fields=True):
    """An entry of `[[sentences]]`: a note about sentences that no claim quotes."""

    document: str
    texts: list[str | tuple[str, str]]
    """Each as written, for all its occurrences, or a unique beginning; two texts are the first and the last of a run.
    """
    claim: str | None = None
    """The claim that compares them with the data, although it quotes another sentence."""
    states_nothing: str | None = None
    """The reason that they state neither a number nor a rule that the data could break."""


class _Notes(Struct, forbid_unknown_fields=True):
    sentences: list[Note] = []


def read_notes(path: Path | None) -> list[Note]:
    """Return the entries of a sentences.toml; without the file there are none."""
    return [] if path is None else toml.decode(path.read_bytes(), type=_Notes).sentences


def plain(text: str) -> str:
    """Return a text with one space for any white space."""
    return " ".join(text.split())


def sentences_of(document: str) -> list[str]:
    """Return the sentences of a document, in order."""
    return [plain(piece) for piece in _pieces(document) if not WITHOUT_WORDS.fullmatch(piece)]


def _pieces(document: str) -> Iterator[str]:
    after = 0
    for literal in LITERAL.finditer(document):
        yield from END.split(CONTINUED.sub(" ", document[after : literal.start()]))
        yield from literal[0].splitlines()
        after = literal.end()
    yield from END.split(CONTINUED.sub(" ", document[after:]))


def quoted(sentences: Sequence[str], quote: str) -> set[int]:
    """Return the places of the sentences that a quote is from, wholly or in part."""
    starts = [0]
    for sentence in sentences:
        starts.append(starts[-1] + len(sentence) + 1)
    return {
        place
        for found in re.finditer(re.escape(plain(quote)), " ".join(sentences))
        for place in range(len(sentences))
        if found.start() < starts[place + 1] - 1 and found.end() > starts[place]
    }


def noted(sentences: Sequence[str], text: str | tuple[str, str]) -> set[int]:
    """Return the places of the sentences that a note's text means; empty if it matches none, or is ambiguous."""
    if isinstance(text, tuple):
        begins = noted(sentences, text[0])
        first = min(begins, default=len(sentences))
        last = next((place for place in range(first, len(sentences)) if sentences[place].startswith(text[1])), None)
        return set(range(first, last + 1)) if len(begins) == 1 and last is not None else set()
    equal = {place for place, sentence in enumerate(sentences) if sentence == text}
    begun = {place for place, sentence in enumerate(sentences) if sentence.startswith(text)}
    return equal or (begun if len(begun) == 1 else set())


def problems(document: str, quotes: Mapping[str, str], notes: Iterable[Note]) -> list[str]:
    """Return the problems of a document's claims, given as their quotes by id, and of its notes: one line each."""
    sentences = sentences_of(document)
    found = []
    spoken_for: set[int] = set()
    for claim_id, quote in quotes.items():
        places = quoted(sentences, quote)
        spoken_for |= places
        if not places:
            found.append(f"{claim_id} quotes what is in no sentence")
    claimed = frozenset(spoken_for)
    for note in notes:
        if (note.claim is None) == (note.states_nothing is None):
            found.append(f"the note of '{note.texts[0]}' needs either a claim or why it states nothing")
        for text in note.texts:
            places = noted(sentences, text)
            if not places:
                found.append(f"a note is about '{text}', which does not match exactly one sentence")
            found += [f"a claim quotes '{sentences[place]}', and a note is about it" for place in places & claimed]
            spoken_for |= places
    unspoken = sorted(set(range(len(sentences))) - spoken_for)
    return found + [f"no claim and no note speaks of '{sentences[place]}'" for place in unspoken]
