"""Requests to the publishers."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from pipelines.ingestion import transport
from pipelines.ingestion.connections import TransientError
from pipelines.ingestion.transport import LEAST_RATE, host_of, with_minimum_rate


def test_host_is_shown_without_credentials():
    assert host_of("https://user:secret@m.example:81/x?key=secret") == "m.example:81"
    assert host_of("file:///media/disk") == "file://"


def test_session_requests_the_original_bytes():
    with transport.Session(1) as session:
        assert session.headers["Accept-Encoding"] == "identity"
        assert session.verify is True
        assert session.trust_env


@pytest.mark.parametrize(
    ("pieces", "is_enough"),
    [
        pytest.param([(LEAST_RATE, 1.0)] * 100, True, id="the least rate"),
        pytest.param([(LEAST_RATE - 1, 1.0)] * 100, False, id="a little less"),
        pytest.param([(1, 1.0)] * 100, False, id="a byte a second"),
        pytest.param([(1, 0.001)] * 100_000, True, id="bytes one by one"),
        pytest.param([(1, 29.0), (9_000, 0.1)] * 10, True, id="long pauses between pieces"),
        pytest.param([(100_000, 1.0), *[(1, 1.0)] * 100], False, id="a good start"),
        pytest.param([(1, 1.0)] * 29, True, id="a file of a few bytes"),
    ],
)
def test_body_must_receive_some_bytes_within_each_timeout(
    monkeypatch: pytest.MonkeyPatch, pieces: list[tuple[int, float]], is_enough: bool
) -> None:
    """A socket never times out on one byte per second; a modem, or a link that several downloads share, is accepted."""
    now, coming = 0.0, iter(pieces)

    def read(_: int) -> bytes:
        nonlocal now
        size, seconds = next(coming, (0, 0.0))
        now += seconds
        return b"x" * size

    monkeypatch.setattr(transport, "time", SimpleNamespace(monotonic=lambda: now))
    read_on = with_minimum_rate(read, "m.example", 30.0)
    if is_enough:
        assert sum(len(read_on(1)) for _ in range(len(pieces) + 1)) == sum(size for size, _ in pieces)
    else:
        with pytest.raises(TransientError, match=r"^m\.example sent fewer than 250 bytes a second for 30 s"):
            [read_on(1) for _ in pieces]
