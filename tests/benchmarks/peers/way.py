"""Shared part of the peers' scripts: a way to read and to flatten, timed, and printed as JSON. Standard library only."""

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
    """One way to read dialogue files into tables `turns`, `frames`, `actions`, `spans`, `state_values` and others."""

    read: Callable[[list[Path]], Any]
    """Reads the files into the library's own form of the dialogues."""
    flatten: Callable[[Any], dict[str, Sized]]
    """Converts that form to one table per level."""
    loses: str
    """Information of the release that these tables do not have."""


def run(package: str, ways: dict[str, Way]) -> None:
    """Read the files of a folder in one way, named on the command line, and print its costs."""
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
