"""Pieces without findings: the result of SQLFluff depends only on the piece and the rules.

They are cached beside the libraries, for all clones that are linted with them.
"""

from __future__ import annotations

import contextlib
import hashlib
import sys
from functools import cache
from importlib.metadata import version
from pathlib import Path

from dialogue_warehouse.common.files import write_atomically
from tests.lint.pieces import Piece

REMEMBERED = Path(sys.prefix) / "sound_sql.txt"
MOST = 20_000
"""Maximum number of cached digests, after which all are deleted: ten times those of a clone."""


@cache
def _rules(root: Path) -> bytes:
    """Return everything that the linting depends on besides the pieces: configuration, SQLFluff and this linter."""
    files = [root / "pyproject.toml", *sorted(Path(__file__).parent.glob("*.py"))]
    return b"".join([version("sqlfluff").encode(), *(file.read_bytes() for file in files if file.is_file())])


def digest(piece: Piece, root: Path) -> str:
    """Return a hash of all inputs that decide the findings in a piece."""
    made = hashlib.sha256(_rules(root))
    made.update(repr((piece.path, piece.name, piece.line, piece.column, piece.may_be_long)).encode())
    for text in piece.variants:
        made.update(repr((text.source_str, text.templated_str, text.sliced_file)).encode())
    return made.hexdigest()


def remembered() -> set[str]:
    """Return the digests of pieces without findings; empty if none can be read."""
    try:
        return set(REMEMBERED.read_text(encoding="utf-8").split())
    except (OSError, UnicodeDecodeError):
        return set()


def remember(digests: set[str]) -> None:
    """Add these to the cache, if it can be written."""
    known = remembered()
    if not digests <= known:
        known = known if len(known) < MOST else set()
        with contextlib.suppress(OSError):
            write_atomically(REMEMBERED, "\n".join(sorted(known | digests)).encode())
