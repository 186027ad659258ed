"""The guard of the webserver refuses what a page of another site can make a browser send, and nothing else."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from click.testing import CliRunner

from pipelines.dagster_graph.web import Guard, main, refusal

JSON = {"host": "127.0.0.1:3000", "content-type": "application/json"}
PROXY = ("dagster.example", "other.example:8443")


def scope(method: str, path: str = "/graphql", **headers: str | list[str]) -> dict[str, Any]:
    """Return the scope of a request; a header with a list is sent several times. `websocket` is a method here."""
    given = [
        (name.replace("_", "-").encode(), value.encode())
        for name, values in headers.items()
        for value in ([values] if isinstance(values, str) else values)
    ]
    kind = {"type": "websocket"} if method == "websocket" else {"type": "http", "method": method}
    return kind | {"path": path, "headers": given, "query_string": b""}


@pytest.mark.parametrize(
    ("host", "is_accepted"),
    [
        ("127.0.0.1", True),
        ("127.0.0.1:8080", True),
        ("LOCALHOST:3000", True),
        ("[::1]:3000", True),
        ("dagster.example", True),
        ("Dagster.Example:443", True),
        ("other.example:8443", True),
        ("evil.example", False),
        ("evil.example:3000", False),
        ("localhost.evil.example", False),
        ("127.0.0.1.evil.example", False),
        ("127.0.0.1@evil.example", False),
        ("evil.example/127.0.0.1", False),
        ("evil.example#localhost", False),
        ("localhost:port", False),
        ("localhost:99999", False),
        ("[::1", False),
        ("", False),
    ],
)
def test_host_is_this_machine_or_one_that_is_named(host: str, is_accepted: bool) -> None:
    """Another name leads to this machine if its owner says so in the DNS: https://en.wikipedia.org/wiki/DNS_rebinding."""
    assert (refusal(scope("GET", "/", host=host), PROXY) is None) == is_accepted
    assert (refusal(scope("websocket", host=host), PROXY) is None) == is_accepted


@pytest.mark.parametrize("hosts", [[], ["localhost", "localhost"], ["localhost", "evil.example"]])
def test_request_with_no_host_or_two_is_refused(hosts: list[str]) -> None:
    assert refusal(scope("GET", "/", host=hosts), ()) is not None


@pytest.mark.parametrize("name", ["dagster.example", "other.example:8443"])
def test_host_of_a_proxy_is_accepted_only_if_it_is_named(name: str) -> None:
    assert refusal(scope("GET", "/", host=name), PROXY) is None
    assert "DIALOGUE_WEB_HOSTS" in str(refusal(scope("GET", "/", host=name), ()))


@pytest.mark.parametrize(
    ("origin", "host", "is_accepted"),
    [
        ("http://127.0.0.1:3000", "127.0.0.1:3000", True),
        ("HTTP://LOCALHOST:3000", "localhost:3000", True),
        ("https://dagster.example", "dagster.example", True),
        ("https://dagster.example", "127.0.0.1:3000", True),  # a proxy that passes another host on
        ("https://other.example:8443", "127.0.0.1:3000", True),
        ("http://127.0.0.1:8888", "127.0.0.1:3000", False),  # another page of this machine
        ("http://localhost:3000", "127.0.0.1:3000", False),
        ("https://dagster.example:8443", "127.0.0.1:3000", False),
        ("https://evil.example", "127.0.0.1:3000", False),
        ("https://evil.example", "evil.example", False),
        ("https://127.0.0.1:3000.evil.example", "127.0.0.1:3000", False),
        ("file://127.0.0.1:3000", "127.0.0.1:3000", False),
        ("null", "127.0.0.1:3000", False),
        ("", "127.0.0.1:3000", False),
    ],
)
def test_origin_is_the_page_itself(origin: str, host: str, is_accepted: bool) -> None:
    """A browser names the origin of each request that is not a plain GET, and of each websocket."""
    for sent in (scope("POST", **JSON | {"host": host}, origin=origin), scope("websocket", host=host, origin=origin)):
        assert (refusal(sent, PROXY) is None) == is_accepted


def test_two_origins_are_refused_if_one_is_foreign() -> None:
    assert refusal(scope("POST", **JSON, origin=["http://127.0.0.1:3000", "https://evil.example"]), ()) is not None


@pytest.mark.parametrize(
    ("kind", "is_accepted"),
    [
        ("application/json", True),
        ("Application/JSON; charset=utf-8", True),
        ("application/graphql", True),
        ("text/plain", False),
        ("text/plain; application/json", False),  # Dagster looks for the type anywhere in the header
        ("text/plain;a=application/json", False),
        ("application/x-www-form-urlencoded", False),
        ("multipart/form-data; boundary=application/json", False),
        ("", False),
    ],
)
@pytest.mark.parametrize("path", ["/graphql", "/report_asset_materialization/a"])
def test_change_has_a_type_that_no_form_can_send(kind: str, path: str, is_accepted: bool) -> None:
    """See https://developer.mozilla.org/en-US/docs/Web/HTTP/Guides/CORS#simple_requests."""
    headers = JSON | {"content-type": kind}
    assert (refusal(scope("POST", path, **headers), ()) is None) == is_accepted


def test_change_without_a_type_is_refused() -> None:
    assert refusal(scope("POST", host="localhost"), ()) is not None
    assert refusal(scope("DELETE", host="localhost"), ()) is not None


@pytest.mark.parametrize(
    ("path", "accept", "is_accepted"),
    [
        ("/graphql", "text/html,application/xhtml+xml", True),  # the editor for queries, which sends none by itself
        ("/runs", "*/*", True),
        ("/", "image/*", True),
        ("/graphql", "image/*", False),
        ("/graphql", "*/*", False),
        ("/graphql/", "*/*", False),
        ("/prefix/graphql", "*/*", False),
    ],
)
def test_query_in_an_address_is_refused(path: str, accept: str, is_accepted: bool) -> None:
    """An image in any page can have such a URL."""
    assert (refusal(scope("GET", path, host="localhost", accept=accept), ()) is None) == is_accepted


def answer(sent: dict[str, Any]) -> list[dict[str, Any]]:
    """Return the messages with which a guarded application answers."""
    messages: list[dict[str, Any]] = []

    async def app(scope: Any, receive: Any, send: Any) -> None:
        await send({"type": "http.response.start", "status": 200, "headers": []})
        await send({"type": "http.response.body", "body": b"the page"})

    async def receive() -> dict[str, Any]:
        return {"type": "http.request"}

    async def send(message: Any) -> None:
        messages.append(message)

    asyncio.run(Guard(app, ())(sent, receive, send))
    return messages


def test_accepted_answer_cannot_be_shown_in_a_frame() -> None:
    start, body = answer(scope("GET", "/", host="localhost"))
    assert (start["status"], body["body"]) == (200, b"the page")
    assert dict(start["headers"])[b"x-frame-options"] == b"DENY"


def test_refused_request_does_not_reach_the_page() -> None:
    start, body = answer(scope("GET", "/", host="evil.example"))
    assert start["status"] == 403
    assert body["body"].startswith(b"refused: ")
    assert b"evil.example" not in body["body"]


def test_refused_websocket_is_closed_before_it_is_accepted() -> None:
    (closed,) = answer(scope("websocket", host="localhost", origin="http://evil.example"))
    assert (closed["type"], closed["code"]) == ("websocket.close", 1008)


def test_error_of_the_webserver_has_no_control_characters() -> None:
    ended = CliRunner().invoke(main, env={"DIALOGUE_WAREHOUSE": "/nowhere/\x1b[31m%41"})
    assert ended.exit_code == 2
    assert ended.stderr.startswith("error: /nowhere/\\x1b[31m%41: Dagster's webserver")
