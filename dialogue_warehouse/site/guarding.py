"""Access to the server: which requests are accepted, and the headers of every response.

A page of another site can send requests to a server on this machine, and under a name of its own if that name leads
here. So the names of the server are checked, a request of another site runs no query, and no other site can show a page
in a frame. The content security policy allows scripts and styles of this server alone, and none inside a page.
"""

from __future__ import annotations

import asyncio
import sys
import urllib.parse
from collections.abc import Callable, Collection

from starlette.concurrency import run_in_threadpool
from starlette.datastructures import Headers, MutableHeaders
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from dialogue_warehouse.errors import first_line

LOOPBACK = ("127.0.0.1", "localhost", "::1")
"""The names of this machine for itself."""
POLICY = (
    "default-src 'none'; style-src 'self'{styles}; script-src 'self'; img-src 'self' data:; form-action 'self'; "
    "base-uri 'none'; frame-ancestors 'none'"
)
ALONE = (
    "sandbox allow-scripts; default-src 'none'; script-src 'unsafe-inline' 'unsafe-eval'; style-src 'unsafe-inline'; "
    "img-src data:; font-src data:; frame-ancestors 'none'"
)
"""The policy of a page with scripts inside it: it runs apart from this server's other pages, and loads nothing."""
HEADERS = {
    "Content-Security-Policy": POLICY.format(styles=""),
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "same-origin",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
}
WITH_EDITOR = " 'nonce-{nonce}'; style-src-attr 'unsafe-inline'"
"""The styles of a page with the editor: it adds a style sheet that has the nonce, and styles of its own elements."""
ELSEWHERE = ("cross-site", "same-site")
"""The words with which a browser says that another site sent the user here."""


def policy_with_editor(nonce: str) -> dict[str, str]:
    """Return the header of a page with the editor."""
    return {"Content-Security-Policy": POLICY.format(styles=WITH_EDITOR.format(nonce=nonce))}


def name_of(host: str) -> str:
    """Return a host without its port, in lower case; `[::1]:80` is `::1`."""
    try:
        return (urllib.parse.urlsplit(f"//{host}").hostname or "").lower()
    except ValueError:
        return ""


def is_from_elsewhere(request: Request) -> bool:
    """Return whether a link or form of another site made this request."""
    return request.headers.get("sec-fetch-site") in ELSEWHERE


class Guard:
    """Refuses requests for other names and from other sites, and adds the headers to every response."""

    def __init__(self, app: ASGIApp, names: Collection[str]) -> None:
        self._app = app
        self._names = {name_of(f"[{name}]" if name.count(":") > 1 else name) for name in names}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return

        async def send_with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                for name, value in HEADERS.items():
                    headers.setdefault(name, value)
            await send(message)

        refusal = self._refusal(Headers(scope=scope))
        app = self._app if refusal is None else PlainTextResponse(f"{refusal}\n", status_code=400)
        await app(scope, receive, send_with_headers)

    def _refusal(self, headers: Headers) -> str | None:
        """Return why a request is refused, or None."""
        if name_of(headers.get("host", "")) not in self._names:
            return "this name is not served here; `--host` and DIALOGUE_WEB_HOSTS name others"
        origin = headers.get("origin")
        if origin is not None and name_of(origin.partition("//")[2]) not in self._names:
            return "a page of another site cannot read this one"
        return None


class LastResort:
    """Answers a request whose page failed with an unexpected error: a page, and one line for the operator."""

    def __init__(self, app: ASGIApp, answer: Callable[[Request, str], Response]) -> None:
        self._app, self._answer = app, answer

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request."""
        has_begun = False

        async def send_and_note(message: Message) -> None:
            nonlocal has_begun
            has_begun = True
            await send(message)

        try:
            await self._app(scope, receive, send_and_note)
        except asyncio.CancelledError:  # the server ends, and this request has had its time
            if scope["type"] != "http":
                raise
            if not has_begun:
                await PlainTextResponse("the server has been stopped\n", status_code=503)(scope, receive, send)
        except Exception as error:
            if scope["type"] != "http":
                raise
            failure = f"{type(error).__name__}: {first_line(error)}"
            print(f"error: {scope['path']!r} failed: {failure}", file=sys.stderr, flush=True)
            if not has_begun:
                page = await run_in_threadpool(self._answer, Request(scope), failure)
                await page(scope, receive, send)
