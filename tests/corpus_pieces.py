"""Say what the tests lack of one corpus: `python -m tests.corpus_pieces NAME`, for `dialogue-warehouse check-corpus`.

The result is JSON: the missing pieces of its fixtures, the documents that its claims quote and that are not available,
and the written tables that do not have it yet. What does not belong here: what the tests themselves find.
"""

from __future__ import annotations

import json
import sys

from dialogue_warehouse.corpora.claims import load_claims
from tests import fixtures, readme
from tests.unit.sentences import DOCUMENTS


def lacking(corpus_id: str) -> dict[str, list[str]]:
    """Return, for each step, what is missing, one line each."""
    return {
        "fixtures": fixtures.problems(corpus_id),
        "documents": missing_documents(corpus_id),
        "README": [] if _readme_is_current() else ["the table of corpora is stale: run `python -m tests.readme`"],
    }


def missing_documents(corpus_id: str) -> list[str]:
    """Return the publisher's documents that are not available, so that their sentences are not compared."""
    quoted = sorted({claim.document for claim in load_claims(corpus_id) if claim.quotes_whom == "publisher"})
    absent = [name for name in quoted if not (DOCUMENTS / name).is_file()]
    return [f"{DOCUMENTS / name} is missing: its sentences are not compared with the claims" for name in absent]


def _readme_is_current() -> bool:
    text = readme.README.read_text(encoding="utf-8")
    return readme.rewrite(text) == text


if __name__ == "__main__":
    print(json.dumps(lacking(sys.argv[1])))
