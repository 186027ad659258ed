"""Release in which each rule of `quality.violations` is broken once, nearly broken once, and broken repeatedly.

Each case is a few records among clean ones: the first breaks the rule, the second nearly breaks it, and, if possible,
two more break it twice and three times at one place. A clean record breaks no rule, so every violation in a record is
caused by its case. The records are in `tests/fixtures/<corpus>/broken.py`.
"""

from __future__ import annotations

import gzip
import json
from pathlib import Path

from tests import fixtures
from tests.fixtures.shapes import Broken, Case, Record

BROKEN: dict[str, Broken] = fixtures.load_all("broken")


def place(corpus_id: str, case: Case) -> int:
    """Return the record of its file that breaks the case's rule; the other records of the case come after it."""
    cases = BROKEN[corpus_id].CASES
    return 1 + sum(len(earlier.edits()) for earlier in cases[: cases.index(case)])


def records(broken: Broken) -> list[Record]:
    """Return a clean record, then the records of each case."""
    made = [broken.record(0, "clean question")]
    for case in broken.CASES:
        for word, edit in case.edits():
            record = broken.record(len(made), f"{case.rule_id.replace('_', ' ')} {word}")
            edit(record)
            made.append(record)
    return made


def write(folder: Path) -> Path:
    """Write the releases of all corpora; return the folder."""
    for corpus_id, broken in BROKEN.items():
        for name, document in broken.documents(records(broken)).items():
            path = folder / corpus_id / name
            path.parent.mkdir(parents=True, exist_ok=True)
            text = document if isinstance(document, str) else json.dumps(document, ensure_ascii=False, indent=1)
            path.write_bytes(gzip.compress(text.encode(), mtime=0) if path.suffix == ".gz" else text.encode())
    return folder
