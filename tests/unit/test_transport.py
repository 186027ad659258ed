"""How the publishers are asked."""

from __future__ import annotations

from pipelines.intake import transport
from pipelines.intake.transport import host_of


def test_host_is_shown_without_credentials():
    assert host_of("https://user:secret@m.example:81/x?key=secret") == "m.example:81"
    assert host_of("file:///media/disk") == "file://"


def test_session_asks_for_the_publishers_own_bytes():
    with transport.Session(1) as session:
        assert session.headers["Accept-Encoding"] == "identity"
        assert session.verify is True
        assert session.trust_env
