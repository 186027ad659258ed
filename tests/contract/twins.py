"""Changes that must make a check of the shared tables fail, if they cannot be derived from its declaration.

The errors that claims must notice are in the twins.py of each corpus's fixtures.
"""

from __future__ import annotations

import tomllib
from pathlib import Path

TWINS: dict[str, dict[str, str]] = tomllib.loads(
    Path(__file__).with_name("shared_twins.toml").read_text(encoding="utf-8")
)
"""Maps suite and check to the statement that makes a warehouse wrong in exactly the way that the check should notice.
"""


def twin_of(suite: str, check: str, table: str = "") -> str | None:
    """Return the statement for a check of a suite. A check of several tables has one each, `<check>/<table>`."""
    names = TWINS.get(suite, {})
    statement = names.get(check) or names.get(check.partition("/")[0])
    return statement and statement.replace("{table}", table)
