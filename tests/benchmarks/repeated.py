"""A release of SGD with 137 files of dialogues, three quarters of the published ones, made of the real files at hand.

The files are repeated in their order, and the dialogues of a repeated file get the number of the new file, as the
release numbers them. Texts, values and results are real ones: generated dialogues have other numbers of results.
"""

from __future__ import annotations

import itertools
import re
import shutil
from pathlib import Path

from tests.benchmarks.harness import BenchmarkError

FILES = {"train": 96, "dev": 17, "test": 24}
"""The number of files in each folder."""
NUMBER = re.compile(rb'(?<="dialogue_id": ")\d+(?=_)')
"""The number of the file in the id of a dialogue."""


def write(source: Path, to: Path) -> None:
    """Write the release from the real files in `source`. Raises BenchmarkError if a folder has none."""
    for folder, count in FILES.items():
        found = sorted((source / folder).glob("dialogues_*.json"))
        if not found:
            raise BenchmarkError(f"{source / folder}: no real files; set DIALOGUE_CORPORA, or name a warehouse")
        (to / folder).mkdir(parents=True)
        shutil.copy(source / folder / "schema.json", to / folder)
        for number, path in zip(range(1, count + 1), itertools.cycle(found), strict=False):
            content = NUMBER.sub(b"%d" % number, path.read_bytes())
            (to / folder / f"dialogues_{number:03}.json").write_bytes(content)
