"""Text that `new-corpus` copied from another corpus is found until it is replaced."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import pytest

from dialogue_warehouse.corpora import left_over, registry, starting
from dialogue_warehouse.corpora.claims import load_claims
from dialogue_warehouse.paths import CLONE

NAME = "newcorpus"
LISTED = subprocess.run(["git", "ls-files"], capture_output=True, text=True, check=True, cwd=CLONE).stdout
COMMITTED = [corpus_id for corpus_id in registry.corpus_ids() if f"corpora/{corpus_id}/source.toml\n" in LISTED]
"""A corpus is committed when its texts are its own."""
CLAIMS, SOURCE = (f"dialogue_warehouse/corpora/{NAME}/{piece}" for piece in ("claims.toml", "source.toml"))


@pytest.fixture
def clone(tmp_path: Path) -> Path:
    """Return a folder with the pieces of the committed corpora: another one may be a copy itself."""
    shutil.copytree(CLONE / starting.SMALLEST_FOLDER, tmp_path / starting.SMALLEST_FOLDER)
    folders = [place.format(corpus_id) for place in starting.PLACES for corpus_id in COMMITTED]
    for folder in filter(lambda folder: (CLONE / folder).is_dir(), folders):
        shutil.copytree(CLONE / folder, tmp_path / folder, ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy(CLONE / starting.PROJECT, tmp_path / starting.PROJECT)
    return tmp_path


def quotes_of(corpus_id: str) -> list[str]:
    """Return the quotes of the publisher that are plain text in TOML."""
    claims = load_claims(corpus_id)
    return [claim.quote for claim in claims if claim.quotes_whom == "publisher" and not set('"\\\n') & set(claim.quote)]


def found_in(clone: Path) -> dict[str, set[str]]:
    """Return the corpora whose text is left over, by file."""
    found: dict[str, set[str]] = {}
    for text in left_over.find(NAME, clone):
        found.setdefault(text.path, set()).add(text.other)
    return found


@pytest.mark.parametrize("corpus_id", COMMITTED)
def test_no_committed_corpus_has_text_of_another_one(corpus_id: str) -> None:
    assert [str(found) for found in left_over.find(corpus_id)] == []


@pytest.mark.parametrize("like", [None, *COMMITTED])
def test_copied_text_is_found(clone: Path, like: str | None) -> None:
    written = starting.start_corpus(NAME, like, clone)
    found = found_in(clone)
    assert set().union(*found.values()) == {like or starting.SMALLEST}
    pieces = {*registry.REQUIRED_FILES, "huggingface.py"} - {"restore.sql"}  # some have no comment
    written_texts = {f"dialogue_warehouse/corpora/{NAME}/{piece}" for piece in pieces} & set(written)
    pieces = ("sentences.toml", "broken.py", "recount.py")
    of_tests = {f"tests/fixtures/{NAME}/{piece}" for piece in pieces} & set(written)
    assert of_tests
    assert {piece for piece in written_texts | of_tests if has_text(clone / piece)} <= found.keys()


def has_text(path: Path) -> bool:
    """Return whether a piece has more lines of text than another corpus may have in common with it."""
    return len(list(left_over.texts(path, NAME))) > 2 * left_over.ENOUGH_LINES


def test_code_is_not_text(tmp_path: Path) -> None:
    """Regression: a short piece of a corpus was to be found as a copy by its imports."""
    piece = tmp_path / "recount.py"
    piece.write_text(
        '"""Rows of the files in Python."""\n' + "from pathlib import Path, other\n" * 20, encoding="utf-8"
    )
    assert not has_text(piece)


def test_text_of_the_smallest_corpus_is_found_in_each_of_two_copies(
    clone: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("another", NAME):
        starting.start_corpus(name, None, clone)
    monkeypatch.setattr(registry, "corpus_ids", lambda: ("another", NAME, *COMMITTED))
    assert {CLAIMS, SOURCE} <= found_in(clone).keys()


def test_replaced_text_is_not_found_and_one_line_that_stays_is(clone: Path) -> None:
    starting.start_corpus(NAME, None, clone)
    claims = clone / CLAIMS
    text = claims.read_text(encoding="utf-8")
    quote = 'quote = "Every call begins with the greeting of an agent."\n'
    assert quote in text
    replaced = re.sub(
        r'^(title|quote|locator|description|why) = ".*"', r'\1 = "words of another README"', text, flags=re.M
    )
    claims.write_text(re.sub("^#.*", "# Statements.", replaced, flags=re.M), encoding="utf-8")
    assert CLAIMS not in found_in(clone)
    claims.write_text(
        text := claims.read_text(encoding="utf-8").replace('quote = "words of another README"\n', quote, 1)
    )
    assert quote in text
    assert found_in(clone)[CLAIMS] == {starting.SMALLEST}


def test_few_lines_of_another_corpus_do_not_hide_text_of_the_smallest(clone: Path) -> None:
    """Regression: only the corpus with the most lines was looked at, and it had too few to be reported."""
    starting.start_corpus(NAME, None, clone)
    few = left_over.ENOUGH_LINES - 1
    like, quotes = next((name, found) for name in COMMITTED if len(found := quotes_of(name)) >= left_over.ENOUGH_LINES)
    lines = [f'quote = "{quote}"\n' for quote in quotes]
    piece = (clone / CLAIMS).with_name("notes.toml")
    name = piece.relative_to(clone).as_posix()
    piece.write_text("".join(lines), encoding="utf-8")
    assert found_in(clone)[name] == {like}
    piece.write_text("".join(lines[:few]) + 'quote = "Every call begins with the greeting of an agent."\n')
    assert found_in(clone)[name] == {starting.SMALLEST}


def test_some_quotes_of_another_corpus_among_many_are_found(clone: Path) -> None:
    like, quotes = next((name, found) for name in COMMITTED if len(found := quotes_of(name)) >= left_over.ENOUGH_LINES)
    starting.start_corpus(NAME, like, clone)
    claims = clone / CLAIMS
    before, *entries = claims.read_text(encoding="utf-8").partition("\n[[defects]]\n")[0].split("\n[[claims]]\n")
    kept = [entry for entry in entries if any(f'quote = "{quote}"' in entry for quote in quotes)][
        : left_over.ENOUGH_LINES
    ]
    own = [f'id = "N{number}"\nquote = "own words {number}"' for number in range(200)]
    rest = entries[0].partition("\n")[2].partition("\n")[2]
    texts = [before, *kept, *(f"{entry}\n{re.sub('quote.*', '', rest)}" for entry in own)]
    claims.write_text("\n[[claims]]\n".join(texts), encoding="utf-8")
    assert like in found_in(clone)[CLAIMS]


def test_checksum_and_address_of_another_corpus_are_found_with_their_line(clone: Path) -> None:
    like = COMMITTED[0]
    starting.start_corpus(NAME, None, clone)
    source = clone / SOURCE
    (address,) = re.findall(r'^url = "(.*)"', (clone / SOURCE.replace(NAME, like)).read_text(encoding="utf-8"), re.M)[
        :1
    ]
    text = re.sub(r'^url = ".*"', f'url = "{address}"', source.read_text(encoding="utf-8"), count=1, flags=re.M)
    source.write_text(text, encoding="utf-8")
    line = text.splitlines().index(f'url = "{address}"') + 1
    found = [str(found) for found in left_over.find(NAME, clone) if found.other == like]
    assert found == [f"{SOURCE}:{line}: text of {like}: {address[:60]}"]
