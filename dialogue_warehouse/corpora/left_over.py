"""Find text of another corpus in the pieces of a corpus: what was copied by `new-corpus` and is not yet replaced.

Every check passes with copied text, because it fits the copied models. A text counts as another corpus's if it occurs
in the pieces of that corpus alone; what several corpora have is common wording. Text is comments and strings of Python,
comments of SQL, and every line of other files. What does not belong here: whether a text is right.
"""

from __future__ import annotations

import contextlib
import io
import re
import tokenize
from collections import Counter, defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from dialogue_warehouse.corpora import registry, starting
from dialogue_warehouse.corpora.claims import Claim, load_claims, read_toml
from dialogue_warehouse.paths import CLONE

SENTENCE = re.compile(r"(?<![\w'])[A-Za-z'][a-z']*(?:[ ,.:;-]+[A-Za-z'][a-z']*){3,}")
"""Four words: shorter texts may be equal by chance."""
SQL_COMMENT = re.compile(r"--.*|{#-?.*")
IN_PYTHON = {tokenize.STRING, tokenize.COMMENT, getattr(tokenize, "FSTRING_MIDDLE", tokenize.STRING)}
NO_SENTENCE = re.compile(r"^\W*(?:select|with|where|name:) ", flags=re.IGNORECASE)
"""Lines of SQL, and columns in YAML."""
ENOUGH_LINES, ENOUGH_SHARE = 3, 0.25
"""Lines, and share of a file's texts, from which they are reported: two corpora have some texts in common.

Any text of the smallest corpus is reported.
"""
FACTS = ("title", "homepage", "citation", "summary")
"""Facts of a source.toml that no two corpora share."""


@dataclass(frozen=True)
class LeftOver:
    """Text of another corpus in a file."""

    path: str
    line: int
    """The first line with such a text."""
    count: int
    """Number of such lines."""
    other: str
    text: str
    """The first such text."""

    def __str__(self) -> str:
        """Return one line with the file and the position."""
        more = f", and in {self.count - 1} more of its lines" if self.count > 1 else ""
        return f"{self.path}:{self.line}: text of {self.other}{more}: {self.text[:60]}"


def find(corpus_id: str, clone: Path = CLONE) -> list[LeftOver]:
    """List the files of a corpus that have text of another corpus, in the order of the page about new corpora."""
    owners: dict[str, set[str]] = defaultdict(set)
    for other in (*_others(corpus_id, clone), starting.SMALLEST):
        for path in _files(other, clone):
            for _, text in texts(path, other):
                owners[text].add(other)
    alone = {text: next(iter(names)) for text, names in owners.items() if len(names) == 1}
    alone |= {text: starting.SMALLEST for text in owners if starting.SMALLEST in text.lower()}
    files = list(_files(corpus_id, clone))
    order = [path.relative_to(clone).as_posix() for path in files]
    found = [*filter(None, (_in_file(path, corpus_id, alone, clone) for path in files))]
    found += [*_facts(corpus_id, clone), *_quotes(corpus_id, clone)]
    return sorted(found, key=lambda one: (order.index(one.path), one.line))


def _others(corpus_id: str, clone: Path) -> list[str]:
    """Return the other corpora of a clone."""
    return [
        other
        for other in registry.corpus_ids()
        if other != corpus_id and (clone / starting.PLACES[0].format(other) / "source.toml").is_file()
    ]


def _files(corpus_id: str, clone: Path) -> Iterator[Path]:
    folder = clone / starting.SMALLEST_FOLDER if corpus_id == starting.SMALLEST else clone
    for place in starting.PLACES:
        for path in sorted((folder / place.format(corpus_id)).rglob("*")):
            if path.is_file() and "__pycache__" not in path.parts:
                yield path


def texts(path: Path, corpus_id: str) -> Iterator[tuple[int, str]]:
    """Yield line number and text of each line that has a sentence, or the title of the smallest corpus."""
    for number, line in _lines(path):
        text = re.sub(rf"(?<![A-Za-z0-9]){corpus_id}(?![a-z0-9])", "<corpus>", line)
        is_sentence = SENTENCE.search(text) and not NO_SENTENCE.search(text)
        if is_sentence or starting.SMALLEST in text.lower():
            yield number, " ".join(text.strip(" \t\"'#-,.{}").split())


def _lines(path: Path) -> Iterator[tuple[int, str]]:
    try:
        text = path.read_text(encoding="utf-8")
    except UnicodeDecodeError:
        return
    if path.suffix == ".py":
        with contextlib.suppress(tokenize.TokenError, SyntaxError):  # the tests name an error of the code
            for token in tokenize.generate_tokens(io.StringIO(text).readline):
                if token.type in IN_PYTHON:
                    yield from enumerate(token.string.splitlines(), token.start[0])
    elif path.suffix == ".sql":
        for number, line in enumerate(text.splitlines(), 1):
            yield from ((number, comment) for comment in SQL_COMMENT.findall(line))
    else:
        yield from enumerate(text.splitlines(), 1)


def _in_file(path: Path, corpus_id: str, alone: dict[str, str], clone: Path) -> LeftOver | None:
    """Return the text of the corpus that this file has most of, among those of which it has enough."""
    found = list(texts(path, corpus_id))
    counts = Counter(alone[text] for _, text in found if text in alone)
    for other, count in counts.most_common():
        if other == starting.SMALLEST or count >= max(ENOUGH_LINES, ENOUGH_SHARE * len(found)):
            line, text = next((line, text) for line, text in found if alone.get(text) == other)
            return LeftOver(path.relative_to(clone).as_posix(), line, count, other, text)
    return None


def _facts(corpus_id: str, clone: Path) -> Iterator[LeftOver]:
    """Yield the facts of the publication that another corpus has too, and its files' URLs and checksums."""

    def facts(folder: Path, name: str) -> dict[str, str]:
        path = folder / starting.PLACES[0].format(name) / "source.toml"
        read = read_toml(path, f"{name}/source.toml")
        of_files = [file[key] for file in read.get("files", []) for key in ("url", "sha256") if key in file]
        return {str(value): name for value in (*(read[key] for key in FACTS if key in read), *of_files)}

    path = clone / starting.PLACES[0].format(corpus_id) / "source.toml"
    text = path.read_text(encoding="utf-8").splitlines()
    others: dict[str, str] = facts(clone / starting.SMALLEST_FOLDER, starting.SMALLEST)
    for other in _others(corpus_id, clone):
        others |= facts(clone, other)
    for value in sorted(facts(clone, corpus_id).keys() & others.keys()):
        line = next((number for number, line in enumerate(text, 1) if value in line), 1)
        yield LeftOver(path.relative_to(clone).as_posix(), line, 1, others[value], value)


def _quotes(corpus_id: str, clone: Path) -> Iterator[LeftOver]:
    """Yield the claims that quote a sentence of the publisher of another corpus."""

    def claims(name: str) -> list[Claim]:
        read = load_claims(name, clone / starting.PLACES[0].format(name))
        return [claim for claim in read if claim.quotes_whom in ("publisher", "paper")]

    path = clone / starting.PLACES[0].format(corpus_id) / "claims.toml"
    text = path.read_text(encoding="utf-8").splitlines()
    others = {claim.quote: other for other in _others(corpus_id, clone) for claim in claims(other)}
    copied = [claim for claim in claims(corpus_id) if claim.quote in others]
    if len(copied) >= ENOUGH_LINES:
        first = copied[0]
        line = next((number for number, line in enumerate(text, 1) if first.claim_id in line), 1)
        yield LeftOver(
            path.relative_to(clone).as_posix(), line, len(copied), others[first.quote], f"the quote of {first.claim_id}"
        )
