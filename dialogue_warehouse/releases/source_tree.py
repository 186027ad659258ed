"""The files below a source: links, unreadable entries, ignored files, and the mark of a generated release.

Links are followed in a source only, never in a warehouse. Files of the operating system or of version control are left
out. Files that are not read are counted by kind, with the first few and the expected names; the messages for users are
made from these fields.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterable, Iterator, Mapping, Set
from dataclasses import asdict, dataclass
from pathlib import Path, PurePosixPath
from typing import NamedTuple

from dialogue_warehouse.common import files
from dialogue_warehouse.errors import naming
from dialogue_warehouse.releases.file_names import FormNames, ReleaseNames, suffix_of

MARKER = "SIMULATED.json"
"""File beside a generated release with its scale and seed; written when the release is complete."""
LARGEST_MARKER = 2**16
"""Maximum number of bytes of the marker, which contains two numbers."""
UNFINISHED = ".part"
"""Suffix of a file that is being written or downloaded."""
ASIDE = ".mismatch"
"""Suffix of a download that differs from the listed file."""


@dataclass(frozen=True)
class Marker:
    """The parameters of a generated release."""

    scale: float
    seed: int


def is_generated(folder: Path) -> bool:
    """Return whether the release in this folder was generated."""
    return (folder / MARKER).exists()


def is_in_generated(folder: Path, path: str) -> bool:
    """Return whether a file below a folder belongs to a generated release: a folder above it has the mark."""
    return any(is_generated(folder / parent) for parent in PurePosixPath(path).parents)


def holds_generated(folder: Path) -> bool:
    """Return whether a release was generated into this folder, or is being generated."""
    return is_generated(folder) or (folder / (MARKER + UNFINISHED)).exists()


def read_marker(folder: Path) -> Marker | None:
    """Read the mark of a corpus's folder; None for a real release. Raises InputError if it cannot be read."""
    return files.read(folder / MARKER, Marker, "the scale and seed of a generated release", LARGEST_MARKER)


def begin_marker(folder: Path, scale: float, seed: int) -> None:
    """Mark this folder: a release is being generated."""
    text = json.dumps(asdict(Marker(scale, seed))) + "\n"
    marker = folder / (MARKER + UNFINISHED)
    with naming(marker):
        marker.write_text(text, encoding="utf-8")


def finish_marker(folder: Path) -> None:
    """Mark the release as complete."""
    (folder / (MARKER + UNFINISHED)).replace(folder / MARKER)


SYSTEM_NAMES = re.compile(
    r"\.git|\.gitattributes|\.gitignore|\.gitmodules|\.gitkeep|\.github|\.svn|\.hg|\.bzr|\.dvc|\.dvcignore|\.idea|\.vscode"
    r"|\.ipynb_checkpoints|__pycache__|\.DS_Store|\._.*|\.AppleDouble|\.Spotlight-V100|\.Trashes|\.Trash-\d+"
    r"|\.fseventsd|\.TemporaryItems|\.localized|__MACOSX|Thumbs\.db|ehthumbs\.db|desktop\.ini|\$RECYCLE\.BIN"
    r"|\.cache|\.huggingface|System Volume Information|lost\+found|@eaDir|\.nfs[0-9a-f]+|\.snapshot|\.directory",
    re.IGNORECASE,
)
"""Names of files and folders without data: of operating systems, file managers, version control, downloaders."""
LINK_TO_NOTHING = "a broken link"
LINK_INTO_A_RING = "a link to a folder that is searched already"
NOT_REGULAR = "not a regular file"


class Entry(NamedTuple):
    """A file or folder of a source. `path` is relative to the walked folder, with `/`; that folder itself is ''."""

    path: str
    is_folder: bool = False
    problem: str = ""
    """The reason why it cannot be read; empty if no problem is known."""


class _Folder(NamedTuple):
    """A folder that is still to be listed: its path with a final `/`, its parents, and if a link leads to it."""

    path: str
    inside: frozenset[tuple[int, int]]
    is_linked: bool


def walk(folder: Path, besides: Path | None = None) -> Iterator[Entry]:
    """Yield every entry below a folder, in no order; nothing if the folder is missing, or below the folder `besides`.

    A folder that is a link is walked unless it is one of its own parents. Below a link, further links are followed only
    to folders not seen before, so that the walk always ends.
    """
    if not os.path.lexists(folder):
        return
    seen: set[tuple[int, int]] = set()
    closed = set(_identities(besides)) if besides else set()
    waiting = [_Folder("", frozenset(_identities(folder)), is_linked=False)]
    while waiting:
        place = waiting.pop()
        try:
            with os.scandir(folder / place.path) as found:
                entries = list(found)
        except OSError as error:
            yield Entry(place.path, is_folder=True, problem=error.strerror or str(error))
            continue
        for entry in entries:
            if SYSTEM_NAMES.fullmatch(entry.name):
                continue
            try:
                yield _look(entry, place, seen, waiting, closed)
            except OSError as error:
                yield Entry(place.path + entry.name, problem=error.strerror or str(error))


def _look(
    entry: os.DirEntry[str],
    place: _Folder,
    seen: set[tuple[int, int]],
    waiting: list[_Folder],
    closed: Set[tuple[int, int]],
) -> Entry:
    """Examine one entry; a folder to walk is added to `waiting`."""
    path = place.path + entry.name
    if entry.is_dir():
        state = entry.stat()
        identity = (state.st_dev, state.st_ino)
        is_link = entry.is_symlink()
        if is_link and (identity in place.inside or (place.is_linked and identity in seen)):
            return Entry(path, problem=LINK_INTO_A_RING)
        seen.add(identity)
        if identity not in closed:
            waiting.append(_Folder(f"{path}/", place.inside | {identity}, place.is_linked or is_link))
        return Entry(path, is_folder=True)
    if entry.is_file():
        return Entry(path)
    return Entry(path, problem=NOT_REGULAR if Path(entry.path).exists() else LINK_TO_NOTHING)


def _identities(folder: Path) -> Iterator[tuple[int, int]]:
    """Yield the device and inode of a folder; nothing if it cannot be read."""
    try:
        state = folder.stat()
    except OSError:
        return
    yield state.st_dev, state.st_ino


FIRST = 5
"""Files of each kind that are named."""
FILES, ENTRIES = ("file", "files"), ("entry", "entries")
SECOND, UNREADABLE, PARTIAL, COPY = "second", "unreadable", "partial", "copy"
ARCHIVE, PARQUET, FORMAT, VERSION, OTHER = "archive", "parquet", "format", "version", "other"
NO_CORPUS, OTHER_FORM = "no_corpus", "other_form"
KINDS = {
    SECOND: "other candidates for a file that is read",
    UNREADABLE: "cannot be read",
    PARTIAL: "incomplete or rejected downloads",
    COPY: "copies and backups",
    ARCHIVE: "archives that must be unpacked first",
    PARQUET: "Parquet, which is only read with --form, as SOURCE/<dataset>/<config>/…",
    FORMAT: "in another format",
    VERSION: "of another version",
    OTHER: "not files of the release",
    NO_CORPUS: "not in the folder of a corpus",
    OTHER_FORM: "in another form of the releases than the requested one (--form)",
}
"""Each kind of ignored file and its description, in the order of the list."""

DOCUMENTATION = re.compile(
    r"(?:readme|licen[cs]e|copying|notice|authors|contributors|contributing|changelog|citation|code_of_conduct|security)"
    r"(?:[-_]\w+)*(?:\.(?:txt|html?|docx?|rtf|tex))?|[^.]+(?:\.[^.]+)*\.(?:md|rst|pdf|bib|cff)",
    re.IGNORECASE,
)
OWN_FILES = re.compile(rf"{re.escape(MARKER)}(?:{re.escape(UNFINISHED)})?|.*{re.escape(UNFINISHED)}\.etag")
"""Marks of generated releases, and the file that a download keeps beside its unfinished file."""
DECORATIONS = {
    COPY: re.compile(
        r"(?:copy of |#|\.)?(?P<name>.+?)(?:~|#|\.bak|\.backup|\.orig|\.old|\.save|\.sw[a-p]|\.\d{1,3}"
        r"| ?\(\d+\)|(?: - |[ _.-])copy(?: ?\(?\d+\)?)?)?(?P<suffix>\.[A-Za-z]\w*(?:\.gz)?)?",
        re.IGNORECASE,
    ),
    PARTIAL: re.compile(
        rf"\.?(?P<name>.+?)(?:{re.escape(UNFINISHED)}|{re.escape(ASIDE)}|\.partial|\.crdownload|\.download|\.filepart"
        r"|\.aria2|\.incomplete|\.opdownload|\.!ut|\.tmp|\.(?!sha\d)[A-Za-z0-9]{6})",
        re.IGNORECASE,
    ),
}
"""Text that other programs add to a file's name, by kind of the resulting file; `name` and `suffix` are the rest."""
SUFFIXES_OF_KINDS = {
    PARTIAL: (UNFINISHED, ASIDE, ".partial", ".crdownload", ".filepart", ".aria2", ".incomplete"),
    COPY: ("~", ".bak", ".backup", ".orig", ".swp", ".swo"),
    ARCHIVE: (
        *(".zip", ".tar", ".tgz", ".tar.gz", ".tbz2", ".txz", ".tzst", ".7z", ".rar"),
        *(".bz2", ".xz", ".zst", ".lz4", ".lzma", ".z"),
    ),
    PARQUET: (".parquet",),
    FORMAT: (
        *(f"{suffix}{packed}" for suffix in (".jsonl", ".ndjson", ".jl", ".csv", ".tsv") for packed in ("", ".gz")),
        *(".arrow", ".feather", ".avro", ".orc", ".xml", ".yaml", ".yml", ".pkl", ".pickle", ".npy", ".npz", ".h5"),
        *(".hdf5", ".xls", ".xlsx", ".sqlite", ".db", ".duckdb"),
    ),
}
"""Suffixes that decide the kind of a file."""


@dataclass(frozen=True)
class IgnoredFile:
    """One file, or a folder (its path ends with `/`) with the number of files below it."""

    path: str
    expected: str = ""
    """The path under which it would be read, or that is read instead; empty if that is not clear."""
    files: int = 1
    problem: str = ""
    """The reason why it cannot be read, if there is a problem."""


@dataclass(frozen=True)
class Ignored:
    """The ignored files of one kind: their number, and the first ones."""

    kind: str
    files: int
    first: tuple[IgnoredFile, ...]


@dataclass(frozen=True)
class Ignoring:
    """Sorts the ignored files of a corpus; `read` are the paths that are read, `seconds` other names of these files."""

    names: ReleaseNames | FormNames
    read: Iterable[str]
    seconds: Mapping[str, str]
    """For each file that is not read because of a better name for the same file: that name."""

    def sort(self, entries: Iterable[Entry]) -> tuple[Ignored, ...]:
        """Return the ignored files by kind. A folder in which no file is read or similar to a read one is one entry."""
        found = [one for entry in entries if (one := self._classify(entry)) is not None]
        kept = {folder for path in self.read for folder in _folders(path)}
        kept |= {folder for kind, file in found if kind != OTHER or file.expected for folder in _folders(file.path)}
        groups: dict[str, dict[str, IgnoredFile]] = {}
        for kind, file in found:
            group = groups.setdefault(kind, {})
            folders = _folders(file.path) if kind == OTHER and not file.expected else ()
            top = next((folder for folder in folders if folder not in kept), None)
            if top is None:
                group[file.path] = file
            else:
                group[top] = IgnoredFile(top, files=group[top].files + 1 if top in group else 1)
        return tuple(group_of(kind, groups[kind].values()) for kind in KINDS if kind in groups)

    def _classify(self, entry: Entry) -> tuple[str, IgnoredFile] | None:
        """Return the kind of an entry; None if it is not reported."""
        path, name = printable(entry.path), entry.path.rsplit("/", 1)[-1]
        if OWN_FILES.fullmatch(name) or (not entry.problem and self._is_documentation(entry.path, name)):
            return None
        if entry.problem:
            return UNREADABLE, IgnoredFile(path, problem=entry.problem)
        if entry.path in self.seconds:
            return SECOND, IgnoredFile(path, self.seconds[entry.path])
        kind, expected = self._kind(entry.path, name)
        return kind, IgnoredFile(path, expected)

    def _is_documentation(self, path: str, name: str) -> bool:
        return DOCUMENTATION.fullmatch(name) is not None or self.names.is_documentation(path)

    def _kind(self, path: str, name: str) -> tuple[str, str]:
        """Return the kind of a file by its name, and the expected path."""
        folder = path[: len(path) - len(name)]
        lowered = name.lower()
        is_similar = self.names.beginnings.match(name) is not None
        for kind, decoration in DECORATIONS.items() if is_similar else ():
            plain = decoration.fullmatch(name)
            if plain and (found := self.names.find(f"{folder}{plain['name']}{plain.groupdict().get('suffix') or ''}")):
                return kind, found.path
        expected = self._with_another_suffix(path) if is_similar else ""
        for kind, suffixes in SUFFIXES_OF_KINDS.items():
            if lowered.endswith(suffixes) and not lowered.endswith(self.names.suffixes):
                return kind, expected
        if expected:
            return FORMAT, expected
        expected = self.names.version_of(path) if is_similar else ""
        return (VERSION, expected) if expected else (OTHER, self.names.place_of(path))

    def _with_another_suffix(self, path: str) -> str:
        """Return the file that a path would belong to if it had a suffix of this release."""
        stem = path.removesuffix(suffix_of(path))
        stems = dict.fromkeys((stem, path.rpartition(".")[0], stem.removesuffix(".tar")))
        found = (self.names.find(f"{one}{suffix}") for one in stems for suffix in ("", *self.names.suffixes))
        return next((name.path for name in found if name), "")


def group_of(kind: str, files: Iterable[IgnoredFile]) -> Ignored:
    """Group these files; those with a known expected path come first."""
    ordered = sorted(files, key=lambda file: (not file.expected, file.path))
    return Ignored(kind, sum(file.files for file in ordered), tuple(ordered[:FIRST]))


def describe(ignored: Iterable[Ignored], expected: Iterable[str] = (), nouns: tuple[str, str] = FILES) -> Iterator[str]:
    """Describe ignored files in one line, with examples of paths that are read; no line if nothing is ignored."""
    groups = list(ignored)
    if not groups:
        return
    number = sum(group.files for group in groups)
    kinds = "; ".join(f"{KINDS[group.kind]}: {_listed(group)}" for group in groups)
    examples = ", ".join(expected)
    yield (
        f"{number:,} {nouns[number > 1]} {'are' if number > 1 else 'is'} not read: {kinds}"
        f"{f'. Expected names are for example {examples}' if examples else ''}"
    )


def printable(path: str) -> str:
    """Return a path as text that UTF-8 can encode, even if it has other bytes."""
    return path.encode("utf-8", "backslashreplace").decode()


def _listed(group: Ignored) -> str:
    more = group.files - sum(file.files for file in group.first)
    named = ", ".join(_named(file, "read is" if group.kind == SECOND else "expected") for file in group.first)
    return named + (f" and {more:,} more" if more else "")


def _named(file: IgnoredFile, label: str) -> str:
    notes = []
    if file.path.endswith("/") and file.files > 1:
        notes.append(f"{file.files:,} files")
    if file.problem:
        notes.append(file.problem)
    if file.expected:
        notes.append(f"{label} {file.expected}")
    return f"{file.path or './'} ({', '.join(notes)})" if notes else file.path or "./"


def _folders(path: str) -> Iterator[str]:
    """Yield the parent folders of a path, from the top, each with a final `/`."""
    position = path.find("/")
    while position >= 0:
        yield path[: position + 1]
        position = path.find("/", position + 1)
