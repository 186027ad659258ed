"""Serve the pages until the command is interrupted."""

from __future__ import annotations

import socket
from pathlib import Path

from dialogue_warehouse.errors import InputError
from dialogue_warehouse.paths import WarehousePaths
from dialogue_warehouse.settings import Settings
from dialogue_warehouse.storage import builds

LEAVE = 2
"""Seconds that readers have to get their page when the server ends."""


def serve(paths: WarehousePaths, settings: Settings, host: str, port: int, scores: Path | None = None) -> None:
    """Serve the pages of a warehouse, and those of the scores in a file of `score --to`.

    Raises InputError if nothing is published, or the address is in use.
    """
    builds.published_build(paths)
    with _listening(host, port) as listening:
        import uvicorn

        from dialogue_warehouse.site.application import application

        config = uvicorn.Config(
            application(paths, settings, host, scores),
            log_level="error",
            lifespan="on",
            ws="none",
            proxy_headers=False,
            server_header=False,
            timeout_graceful_shutdown=LEAVE,
        )
        name = f"[{host}]" if ":" in host else host
        print(f"http://{name}:{port} (Ctrl-C stops the server)", flush=True)
        uvicorn.Server(config).run(sockets=[listening])


def _listening(host: str, port: int) -> socket.socket:
    """Return a socket that listens at this address. An empty host, which would be all addresses, is refused."""
    if not host.strip():
        raise InputError(
            "--host: is empty; 127.0.0.1 is for this machine alone, 0.0.0.0 for every network that it is in"
        )
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    listening = socket.socket(family, socket.SOCK_STREAM)
    listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listening.bind((host, port))
        listening.listen(128)
    except OSError as error:
        listening.close()
        raise InputError(f"{host}:{port} cannot be served: {error.strerror or error}") from error
    return listening
