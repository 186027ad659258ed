"""The changes that must make a check fail, where they cannot be made from what the check declares.

Those of a corpus's claims stand in the twins.toml of its fixtures, the others in shared_twins.toml.
"""

from __future__ import annotations

import tomllib
from pathlib import Path

from tests import fixtures

SHARED = Path(__file__).with_name("shared_twins.toml")
TWINS: dict[str, dict[str, str]] = fixtures.twins() | tomllib.loads(SHARED.read_text(encoding="utf-8"))
"""Suite -> check -> the statement that makes a warehouse wrong in just the way the check should notice."""


def twin_of(suite: str, check: str, table: str = "") -> str | None:
    """The statement for a check of a suite; of a check of several tables, named `<check>/<table>`, that of its table."""
    names = TWINS.get(suite, {})
    statement = names.get(check) or names.get(check.partition("/")[0])
    return statement and statement.replace("{table}", table)
