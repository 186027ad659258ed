"""Dagster's webserver, with a guard against requests that another page makes: `python -m pipelines.dagster_graph.web`.

Dagster's own webserver runs a mutation that comes as GET or as a form, from any origin and for any host. So a page of
another site, open in the same browser, could launch a run (cross-site request forgery), or read all of it under a name
that leads to this machine (DNS rebinding). The guard is ASGI middleware around Dagster's application. It refuses such
requests before Dagster sees them, and lets no page show this one in a frame. Requests of programs, which name no
origin, are accepted. The rules are those of https://cheatsheetseries.owasp.org: an expected host, an own origin, and a
content type that no form can send.
"""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import urllib.parse
from collections.abc import Collection, Generator
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn

import click
from starlette.datastructures import Headers, MutableHeaders
from starlette.responses import PlainTextResponse

from dialogue_warehouse.common.text import visible
from dialogue_warehouse.errors import InputError
from dialogue_warehouse.paths import WarehousePaths
from dialogue_warehouse.settings import Settings

if TYPE_CHECKING:
    from starlette.types import ASGIApp, Message, Receive, Scope, Send

LOOPBACK = frozenset({"localhost", "127.0.0.1", "::1"})
"""Names of this machine, under which the UI is always served."""
READING = frozenset({"GET", "HEAD", "OPTIONS"})
"""Methods of requests that change nothing, except for a query in the URL of `/graphql`."""
NOT_OF_FORMS = frozenset({"application/json", "application/graphql"})
"""Content types that a browser sends to another site only after it has asked that site."""
POLICY_VIOLATION = 1008
SECONDS_TO_END = 10
"""Seconds that open requests, and the daemon, have to end after a signal to stop."""
POSTGRESQL = {"statement_timeout": 15_000, "pool_recycle": 3600, "max_overflow": 20}
"""Limits for connections to a history in PostgreSQL, as in `dagster-webserver`."""


def refusal(scope: Scope, hosts: Collection[str]) -> str | None:
    """Return the reason to refuse a request or a websocket, None if it is accepted.

    `hosts` are names under which the UI is served besides those of this machine, with a port where it is not the
    default one.
    """
    headers = Headers(scope=scope)
    host, origins = headers.getlist("host"), headers.getlist("origin")
    names = LOOPBACK | {_name(one) for one in hosts}
    if len(host) != 1 or _name(host[0]) not in names:
        return "the request names another host than this server has; DIALOGUE_WEB_HOSTS has the names of a proxy"
    own = {host[0].lower(), *(one.lower() for one in hosts)}
    if any(_place(origin) not in own for origin in origins):
        return "a page of another site has made this request"
    if scope["type"] == "websocket":
        return None
    if scope["method"] not in READING:
        kind = headers.get("content-type", "").partition(";")[0].strip().lower()
        return None if kind in NOT_OF_FORMS else "a request that changes something must have the type application/json"
    if scope["path"].rstrip("/").endswith("/graphql") and "text/html" not in headers.get("accept", ""):
        return "a query is accepted as POST only"
    return None


def _name(host: str) -> str | None:
    """Return the name in a header `Host`, without its port; None for text that is not a name and a port."""
    try:
        parts = urllib.parse.urlsplit(f"//{host}")
        is_host = parts.netloc == host and "@" not in host and parts.port != 0
    except ValueError:
        return None
    return parts.hostname if is_host else None


def _place(origin: str) -> str | None:
    """Return host and port of an origin, as the header `Host` would name them; None for text that is not an origin."""
    scheme, _, place = origin.lower().partition("://")
    return place if scheme in ("http", "https") else None


class Guard:
    """An ASGI application that passes accepted requests to another one, and answers the others."""

    def __init__(self, app: ASGIApp, hosts: Collection[str]) -> None:
        self.app, self.hosts = app, hosts

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request, or all messages of one websocket."""
        if scope["type"] not in ("http", "websocket"):
            return await self.app(scope, receive, send)
        reason = refusal(scope, self.hosts)
        if reason is None:
            return await self.app(scope, receive, _unframed(send))
        if scope["type"] == "websocket":  # before it is accepted, so the browser gets status 403
            return await send({"type": "websocket.close", "code": POLICY_VIOLATION, "reason": reason})
        return await PlainTextResponse(f"refused: {reason}\n", status_code=403)(scope, receive, send)


def _unframed(send: Send) -> Send:
    """Send responses that no other page may show in a frame, where users would click on what they do not see."""

    async def sending(message: Message) -> None:
        if message["type"] == "http.response.start":
            MutableHeaders(scope=message)["x-frame-options"] = "DENY"
        await send(message)

    return sending


def serve(host: str, port: int, has_daemon: bool = False) -> None:
    """Serve the UI for the warehouse in the settings until a signal stops it. Raises InputError for wrong settings."""
    import uvicorn
    from dagster import DagsterInstance
    from dagster._core.workspace.context import WorkspaceProcessContext
    from dagster._core.workspace.load_target import ModuleTarget
    from dagster_webserver.app import create_app_from_workspace_process_context
    from dagster_webserver.version import __version__

    from pipelines.dagster_graph.instance import configure, opening

    settings = Settings.from_environment()
    paths = WarehousePaths(settings.warehouse)
    configure(paths)
    home = os.environ.setdefault("DAGSTER_HOME", str(paths.dagster_home))
    signal.signal(signal.SIGTERM, _end)
    location = ModuleTarget("pipelines.definitions", None, os.getcwd(), None)  # noqa: PTH109
    with opening(Path(home) / "dagster.yaml"):
        kept = DagsterInstance.get()
    with _daemon() if has_daemon else contextlib.nullcontext(), kept as instance:
        instance.optimize_for_webserver(**POSTGRESQL)
        with WorkspaceProcessContext(instance, location, version=__version__) as workspace:
            app = create_app_from_workspace_process_context(workspace, live_data_poll_rate=2000)
            print(f"serving the Dagster UI on http://{host}:{port}", flush=True)
            uvicorn.run(
                Guard(app, settings.web_hosts),
                host=host,
                port=port,
                log_level="warning",
                lifespan="off",
                timeout_graceful_shutdown=SECONDS_TO_END,
            )


@contextlib.contextmanager
def _daemon() -> Generator[None]:
    """Run Dagster's daemon as a process that ends with this one."""
    program = Path(sys.executable).with_name("dagster-daemon")
    with subprocess.Popen([program, "run", "-m", "pipelines.definitions"]) as process:
        try:
            yield
        finally:
            process.terminate()
            with contextlib.suppress(subprocess.TimeoutExpired):
                process.wait(SECONDS_TO_END)
            process.kill()


def _end(number: int, frame: object) -> NoReturn:
    """End the process in order, so that the process with the code location ends too."""
    sys.exit(0)


@click.command()
@click.option("--host", default="127.0.0.1", show_default=True, help="Address on which the UI is served.")
@click.option("--port", default=3000, show_default=True, type=click.IntRange(1, 65_535))
@click.option("--daemon", "has_daemon", is_flag=True, help="Run Dagster's daemon too, in another process.")
def main(host: str, port: int, has_daemon: bool) -> None:
    """Serve the Dagster UI for the warehouse of the settings."""
    try:
        serve(host, port, has_daemon)
    except InputError as error:
        print(f"error: {visible(str(error))}", file=sys.stderr)
        sys.exit(2)


if __name__ == "__main__":
    main()
