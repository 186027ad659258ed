"""A release in which each rule of `quality.violations` is broken once, nearly broken once, and broken again.

Every case is some records beside clean ones: the first breaks the rule, the second does what the rule is not about, and
two more break it twice and three times in one place, where that can be. A clean record breaks no rule at all, so that whatever is found in a record is its case's doing. What the records are
stands in `tests/fixtures/<corpus>/broken.py`.
"""

from __future__ import annotations

import gzip
import json
from pathlib import Path

from tests import fixtures
from tests.fixtures.shapes import Broken, Case, Record

BROKEN: dict[str, Broken] = fixtures.load_all("broken")


def place(corpus_id: str, case: Case) -> int:
    """The record of its file that breaks the case's rule; the others of the case are behind it."""
    cases = BROKEN[corpus_id].CASES
    return 1 + sum(len(earlier.edits()) for earlier in cases[: cases.index(case)])


def records(broken: Broken) -> list[Record]:
    """A clean record, then those of each case."""
    made = [broken.record(0, "clean question")]
    for case in broken.CASES:
        for word, edit in case.edits():
            record = broken.record(len(made), f"{case.rule_id.replace('_', ' ')} {word}")
            edit(record)
            made.append(record)
    return made


def write(folder: Path) -> Path:
    """Write the releases of all corpora; returns the folder."""
    for corpus_id, broken in BROKEN.items():
        for name, document in broken.documents(records(broken)).items():
            path = folder / corpus_id / name
            path.parent.mkdir(parents=True, exist_ok=True)
            text = document if isinstance(document, str) else json.dumps(document, ensure_ascii=False, indent=1)
            path.write_bytes(gzip.compress(text.encode(), mtime=0) if path.suffix == ".gz" else text.encode())
    return folder
