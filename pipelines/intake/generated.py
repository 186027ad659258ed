"""The mark of a generated release: a file beside it that says its scale and seed."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from pathlib import Path, PurePosixPath

from pipelines.errors import naming
from pipelines.intake import own_files

MARKER = "SIMULATED.json"
"""Stands beside a generated release and says its scale and seed; written when the release is complete."""
LARGEST_MARKER = 2**16
"""Most bytes of the marker; it has two numbers."""
UNFINISHED = ".part"
"""Suffix of what is being written or downloaded."""
ASIDE = ".mismatch"
"""Suffix of a download that is not the listed file."""


@dataclass(frozen=True)
class Marker:
    """How a release was generated."""

    scale: float
    seed: int


def is_generated(folder: Path) -> bool:
    """Whether the release in this folder was generated."""
    return (folder / MARKER).exists()


def is_in_generated(folder: Path, path: str) -> bool:
    """Tell if a file below a folder belongs to a generated release: one between the two has the mark, or the folder."""
    return any(is_generated(folder / parent) for parent in PurePosixPath(path).parents)


def holds_generated(folder: Path) -> bool:
    """Whether a release was generated into this folder, or is being."""
    return is_generated(folder) or (folder / (MARKER + UNFINISHED)).exists()


def read_marker(folder: Path) -> Marker | None:
    """What the marker of a corpus folder says, None for a real release. Raises InputError when it cannot be read."""
    return own_files.read(folder / MARKER, Marker, "the scale and seed of a generated release", LARGEST_MARKER)


def begin_marker(folder: Path, scale: float, seed: int) -> None:
    """Say in this folder that a release is being generated."""
    text = json.dumps(asdict(Marker(scale, seed))) + "\n"
    marker = folder / (MARKER + UNFINISHED)
    with naming(marker):
        marker.write_text(text, encoding="utf-8")


def finish_marker(folder: Path) -> None:
    """Say that the release is complete."""
    (folder / (MARKER + UNFINISHED)).replace(folder / MARKER)
