"""A path that every library takes for a path: some take one for a URL, a template or a piece of SQL."""

from __future__ import annotations

import atexit
import functools
import re
import shutil
import tempfile
from pathlib import Path

PLAIN = re.compile(r"[\w./ -]+")
"""What no library reads as anything else. SQLAlchemy decodes `%20`, dbt renders braces and puts quotes into SQL."""


@functools.cache
def plain_path(folder: Path) -> Path:
    """The folder under a name of plain characters: its own, or that of a link which lasts as long as this process.

    The same each time, because dbt keeps what it has compiled between two selections.
    """
    if PLAIN.fullmatch(str(folder)):
        return folder
    place = tempfile.mkdtemp(prefix="dialogue-warehouse-")
    atexit.register(shutil.rmtree, place, ignore_errors=True)
    link = Path(place) / "folder"
    link.symlink_to(folder, target_is_directory=True)
    return link
