"""What the peers' scripts share: a way to read and to flatten, timed, and printed as JSON. Standard library only."""

from __future__ import annotations

import argparse
import importlib.metadata
import json
import resource
import sys
import time
from collections.abc import Callable, Sized
from dataclasses import dataclass
from pathlib import Path
from typing import Any


@dataclass(frozen=True)
class Way:
    """One way to get tables `turns`, `frames`, `actions`, `spans`, `state_values` and more out of dialogue files."""

    read: Callable[[list[Path]], Any]
    """From the files to the library's own form of the dialogues."""
    flatten: Callable[[Any], dict[str, Sized]]
    """From there to one table a level."""
    loses: str
    """What of the release cannot be told from those tables any more."""


def run(package: str, ways: dict[str, Way]) -> None:
    """Go one way, named on the command line, through the files of a folder, and print what it cost."""
    parser = argparse.ArgumentParser(description=sys.modules["__main__"].__doc__)
    parser.add_argument("folder", type=Path, help="SGD as published: FOLDER/train/dialogues_001.json, …")
    parser.add_argument("--way", choices=ways, default=next(iter(ways)))
    options = parser.parse_args()
    files = sorted(options.folder.glob("*/dialogues_*.json"))
    if not files:
        sys.exit(f"error: {options.folder}: no */dialogues_*.json")
    way = ways[options.way]
    started = time.perf_counter()
    dialogues = way.read(files)
    read = time.perf_counter()
    tables = way.flatten(dialogues)
    flattened = time.perf_counter()
    print(
        json.dumps(
            {
                "package": package,
                "version": importlib.metadata.version(package),
                "way": options.way,
                "files": len(files),
                "read_seconds": read - started,
                "flatten_seconds": flattened - read,
                "rows": {name: len(table) for name, table in tables.items()},
                "peak_bytes": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024,
                "loses": way.loses,
            }
        )
    )
