"""The time of the last finished check of the source: one that built, or one that found nothing to build.

A service that no longer checks its source looks like one whose source never changes; this time tells them apart.
"""

from __future__ import annotations

import contextlib
from datetime import UTC, datetime

import msgspec

from dialogue_warehouse.common import files
from dialogue_warehouse.errors import InputError
from dialogue_warehouse.paths import WarehousePaths


class Checked(msgspec.Struct, frozen=True):
    """The content of the file."""

    at: str
    """The time of the check, in UTC, as ISO 8601."""


def record_check(paths: WarehousePaths) -> None:
    """Record that a check of the source has finished now. A file that cannot be written fails no build."""
    now = datetime.now(UTC).isoformat(timespec="seconds")
    with contextlib.suppress(OSError):
        files.write_atomically(paths.checked, msgspec.json.encode(Checked(now)))


def last_check(paths: WarehousePaths) -> datetime | None:
    """Return the time of the last finished check; None if none is recorded, or the file cannot be read."""
    with contextlib.suppress(InputError, ValueError):
        found = files.read(paths.checked, Checked, "the time of a check")
        if found is not None:
            at = datetime.fromisoformat(found.at)
            return at if at.tzinfo else at.replace(tzinfo=UTC)
    return None
