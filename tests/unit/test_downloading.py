"""Who does not answer is not asked for every file."""

from __future__ import annotations

import pytest

from pipelines.ingestion import fetching
from pipelines.ingestion.fetching import Hosts
from pipelines.ingestion.transport import UnavailableError


def test_dead_host_is_not_asked_for_every_file():
    hosts = Hosts()
    for _ in range(fetching.HOPELESS - 1):
        hosts.failed("a", "answered 503", is_certain=False)
        hosts.check("a")
    hosts.answered("a")
    hosts.failed("a", "answered 503", is_certain=False)
    hosts.check("a")
    hosts.failed("b", "cannot be reached", is_certain=True)
    hosts.check("a")
    with pytest.raises(UnavailableError, match="cannot be reached"):
        hosts.check("b")
