"""Walk over a folder of a source: every file below it, links followed, and what cannot be read.

Links are followed in a source only; nothing in a warehouse is read through this module. Files that the system or a
version control keeps for itself are left out.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

SYSTEM_NAMES = re.compile(
    r"\.git|\.gitattributes|\.gitignore|\.gitmodules|\.gitkeep|\.github|\.svn|\.hg|\.bzr|\.dvc|\.dvcignore|\.idea|\.vscode"
    r"|\.ipynb_checkpoints|__pycache__|\.DS_Store|\._.*|\.AppleDouble|\.Spotlight-V100|\.Trashes|\.Trash-\d+"
    r"|\.fseventsd|\.TemporaryItems|\.localized|__MACOSX|Thumbs\.db|ehthumbs\.db|desktop\.ini|\$RECYCLE\.BIN"
    r"|\.cache|\.huggingface|System Volume Information|lost\+found|@eaDir|\.nfs[0-9a-f]+|\.snapshot|\.directory",
    re.IGNORECASE,
)
"""Names of files and folders that hold no data: those of operating systems, file managers, version control
and downloaders."""
LINK_TO_NOTHING = "a link to nothing"
LINK_INTO_A_RING = "a link to a folder that is walked already"
NOT_REGULAR = "not a regular file"


class Entry(NamedTuple):
    """A file or folder of a source. `path` is relative to the folder walked, with `/`; that folder itself is ''."""

    path: str
    is_folder: bool = False
    problem: str = ""
    """Why it cannot be read, empty where nothing is known to be wrong."""


class _Folder(NamedTuple):
    """A folder still to be listed: its path with a `/` behind it, the folders it is in, and if a link leads to it."""

    path: str
    inside: frozenset[tuple[int, int]]
    is_linked: bool


def walk(folder: Path) -> Iterator[Entry]:
    """Every entry below a folder, in no order; nothing where there is no folder.

    A folder that is a link is walked unless it is one of those it is in. Below a link, further links lead only to
    folders not seen before, so that the walk ends whatever the links are.
    """
    if not os.path.lexists(folder):
        return
    seen: set[tuple[int, int]] = set()
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
                yield _look(entry, place, seen, waiting)
            except OSError as error:
                yield Entry(place.path + entry.name, problem=error.strerror or str(error))


def _look(entry: os.DirEntry[str], place: _Folder, seen: set[tuple[int, int]], waiting: list[_Folder]) -> Entry:
    """Look at one entry; a folder to walk is added to those waiting."""
    path = place.path + entry.name
    if entry.is_dir():
        state = entry.stat()
        identity = (state.st_dev, state.st_ino)
        is_link = entry.is_symlink()
        if is_link and (identity in place.inside or (place.is_linked and identity in seen)):
            return Entry(path, problem=LINK_INTO_A_RING)
        seen.add(identity)
        waiting.append(_Folder(f"{path}/", place.inside | {identity}, place.is_linked or is_link))
        return Entry(path, is_folder=True)
    if entry.is_file():
        return Entry(path)
    return Entry(path, problem=NOT_REGULAR if Path(entry.path).exists() else LINK_TO_NOTHING)


def _identities(folder: Path) -> Iterator[tuple[int, int]]:
    """The device and inode of a folder, none where it cannot be looked at."""
    try:
        state = folder.stat()
    except OSError:
        return
    yield state.st_dev, state.st_ino
