"""The mark of a generated release: a file beside it that says its scale and seed."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

MARKER = "SIMULATED.json"
"""Stands beside a generated release and says its scale and seed; written when the release is complete."""
UNFINISHED = ".part"
"""Suffix of what is being written or downloaded."""


def is_generated(folder: Path) -> bool:
    """Whether the release in this folder was generated."""
    return (folder / MARKER).exists()


def holds_generated(folder: Path) -> bool:
    """Whether a release was generated into this folder, or is being."""
    return is_generated(folder) or (folder / (MARKER + UNFINISHED)).exists()


def read_marker(folder: Path) -> dict[str, Any] | None:
    """What the marker of a corpus folder says (scale, seed), None for a real release."""
    try:
        return json.loads((folder / MARKER).read_text(encoding="utf-8"))
    except FileNotFoundError:
        return None


def begin_marker(folder: Path, scale: float, seed: int) -> None:
    """Say in this folder that a release is being generated."""
    text = json.dumps({"scale": scale, "seed": seed}) + "\n"
    (folder / (MARKER + UNFINISHED)).write_text(text, encoding="utf-8")


def finish_marker(folder: Path) -> None:
    """Say that the release is complete."""
    (folder / (MARKER + UNFINISHED)).replace(folder / MARKER)
