"""Changes that must make a check fail, if they cannot be derived from the declaration of the check.

The changes for a corpus's claims are in the twins.toml of its fixtures, the others in shared_twins.toml.
"""

from __future__ import annotations

import tomllib
from pathlib import Path

from tests import fixtures

SHARED = Path(__file__).with_name("shared_twins.toml")
TWINS: dict[str, dict[str, str]] = fixtures.twins() | tomllib.loads(SHARED.read_text(encoding="utf-8"))
"""Maps suite and check to the statement that makes a warehouse wrong in exactly the way that the check should notice.
"""


def twin_of(suite: str, check: str, table: str = "") -> str | None:
    """Return the statement for a check of a suite. A check of several tables has one each, `<check>/<table>`."""
    names = TWINS.get(suite, {})
    statement = names.get(check) or names.get(check.partition("/")[0])
    return statement and statement.replace("{table}", table)
