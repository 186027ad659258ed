"""The time of the last finished check of the source."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from dialogue_warehouse.paths import WarehousePaths
from dialogue_warehouse.storage.checked import last_check, record_check


def test_last_check_is_recorded_in_utc(tmp_path: Path) -> None:
    paths = WarehousePaths(tmp_path)
    assert last_check(paths) is None
    record_check(paths)
    at = last_check(paths)
    assert at is not None
    assert at.utcoffset() == timedelta(0)
    assert abs(datetime.now(UTC) - at) < timedelta(minutes=1)


@pytest.mark.parametrize("text", ["", "[", "{}", '{"at": "yesterday"}', '{"at": 7}'])
def test_damaged_record_counts_as_no_check_and_is_replaced(tmp_path: Path, text: str) -> None:
    paths = WarehousePaths(tmp_path)
    paths.checked.write_text(text)
    assert last_check(paths) is None
    record_check(paths)
    assert last_check(paths) is not None


def test_time_without_a_zone_is_utc(tmp_path: Path) -> None:
    paths = WarehousePaths(tmp_path)
    paths.checked.write_text('{"at": "2026-11-26T01:00:00"}')
    assert last_check(paths) == datetime(2026, 11, 26, 1, tzinfo=UTC)


def test_record_that_cannot_be_written_fails_nothing(tmp_path: Path) -> None:
    paths = WarehousePaths(tmp_path)
    paths.checked.mkdir()
    record_check(paths)
    assert last_check(paths) is None
