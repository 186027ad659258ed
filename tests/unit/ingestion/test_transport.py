"""No more of a URL is shown than its host."""

from __future__ import annotations

from pipelines.ingestion.connections import host_of


def test_host_is_shown_without_credentials() -> None:
    assert host_of("https://user:secret@m.example:81/x?key=secret") == "m.example:81"
    assert host_of("file:///media/disk") == "file://"
