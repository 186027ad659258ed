"""Edits of a file of a generated release in place, used by the `disturb.py` of a corpus's fixtures."""

from __future__ import annotations

import gzip
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any


def edit_file(path: Path, edit: Callable[[Any], Any]) -> None:
    """Replace the JSON of a file, zipped or not."""
    data = path.read_bytes()
    is_zipped = path.suffix == ".gz"
    edited = json.dumps(edit(json.loads(gzip.decompress(data) if is_zipped else data))).encode()
    path.write_bytes(gzip.compress(edited, mtime=0) if is_zipped else edited)
