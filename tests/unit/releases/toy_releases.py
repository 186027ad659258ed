"""A made-up corpus and its files on disk, in any places."""

from __future__ import annotations

from pathlib import Path

from dialogue_warehouse.corpora.release import Container, Corpus, Entity, SourceFile
from dialogue_warehouse.releases.finding import Release, find_release
from dialogue_warehouse.releases.unpacking import sha256_of

TALKS, NAMES, ALL = "train/talks_001.json", "names.json", "all_v1.1.json.gz"
TEXT = b'["a"]'
ADDRESS = "https://raw.example.com/owner/repository/0123abcd/data/"
ENTITIES = (
    Entity("talks", str, Container.ARRAY, r"(?P<part>train|dev)/talks_\d+\.json"),
    Entity("names", str, Container.ARRAY, r"names\.json"),
    Entity("all", str, Container.ARRAY, r"all_v1\.1\.json\.gz"),
)
CORPUS = Corpus(
    corpus_id="toy",
    title="Toy Talks (TT-1)",
    homepage="",
    license="",
    citation="",
    release="0123abcd",
    text_kind="dialogue",
    goal_kind="none",
    files=(
        *(SourceFile(path, f"{ADDRESS}{path}", sha256=sha256_of(TEXT)) for path in (TALKS, NAMES, ALL)),
        SourceFile("sample.json", f"{ADDRESS}sample.json", is_documentation=True),
    ),
    entities=ENTITIES,
    folder=Path(),
)


def write(source: Path, *paths: str, text: bytes = TEXT) -> Path:
    """Write files below the folder of the corpus; return that folder."""
    folder = source / CORPUS.corpus_id
    for path in paths:
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_bytes(text)
    return folder


def found(source: Path, *paths: str) -> Release:
    """Return the release at a source after these files have been written there."""
    write(source, *paths)
    return find_release(CORPUS, source)


def ignored(release: Release) -> dict[str, list[tuple[str, str]]]:
    """Return path and expected path of the files of each kind that are not read."""
    return {group.kind: [(file.path, file.expected) for file in group.first] for group in release.ignored}
