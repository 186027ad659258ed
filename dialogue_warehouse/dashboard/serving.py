"""Start the dashboard: Streamlit replaces this process, so that its exit status and signals are unchanged."""

from __future__ import annotations

import os
import socket
import sys
from pathlib import Path
from typing import NoReturn

from dialogue_warehouse import environment
from dialogue_warehouse.errors import InputError, require_extra
from dialogue_warehouse.paths import WarehousePaths
from dialogue_warehouse.storage import builds

APP = Path(__file__).with_name("app.py")
FLAGS = {
    "server.headless": "true",
    "server.fileWatcherType": "none",
    "server.maxUploadSize": "1",
    "browser.gatherUsageStats": "false",
    "client.toolbarMode": "minimal",
    "client.showErrorDetails": "none",
    "logger.level": "error",
    "runner.magicEnabled": "false",
}
"""Settings of Streamlit: no telemetry, no developer tools, no traceback on a page."""


def serve(paths: WarehousePaths, host: str, port: int) -> NoReturn:
    """Serve the dashboard of a warehouse until it is interrupted.

    Raises InputError if nothing is published, Streamlit is not installed, or the address is in use.
    """
    require_extra("dashboard", "the dashboard")
    builds.published_build(paths)
    _refuse_used_address(host, port)
    command = [
        sys.executable,
        "-m",
        "dialogue_warehouse.dashboard",
        "run",
        str(APP),
        f"--server.address={host}",
        f"--server.port={port}",
    ]
    command += [f"--{name}={value}" for name, value in FLAGS.items()]
    sys.stdout.flush()
    sys.stderr.flush()
    variables = environment.own_variables() | {"DIALOGUE_WAREHOUSE": str(paths.root)}
    os.execve(sys.executable, command, variables)  # noqa: S606


def _refuse_used_address(host: str, port: int) -> None:
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    with socket.socket(family, socket.SOCK_STREAM) as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((host, port))
        except OSError as error:
            raise InputError(f"{host}:{port} cannot be served: {error.strerror or error}") from error
