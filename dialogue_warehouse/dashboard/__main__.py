"""Streamlit's command line with the pages already imported, so that the first reader does not wait for the import.

Streamlit reads `.streamlit/config.toml` in the home and in the working folder. The file may belong to another program,
and may for example change the address of every page. Therefore this package's own folder, which has no such file, is
both folders while it serves. Streamlit prints a message before it stops; if nothing read its output, it would never
stop.
"""

from __future__ import annotations

import contextlib
import importlib
import io
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from _typeshed import ReadableBuffer


class _Output(io.FileIO):
    """An output stream that ignores failed writes."""

    def write(self, data: ReadableBuffer, /) -> int:
        """Write the data; discard it if that fails."""
        with contextlib.suppress(OSError):
            return super().write(data)
        return memoryview(data).nbytes


def _forgiving(number: int) -> io.TextIOWrapper:
    """Return the output with this file descriptor as a text stream; writing to it never fails."""
    output = io.BufferedWriter(_Output(number, "w", closefd=False))
    return io.TextIOWrapper(output, encoding="utf-8", errors="backslashreplace", line_buffering=True)


if __name__ == "__main__":
    importlib.import_module("dialogue_warehouse.paths")  # finds paths in the user's home before HOME changes
    folder = Path(__file__).parent
    os.chdir(folder)
    os.environ["HOME"] = str(folder)
    sys.stdout, sys.stderr = _forgiving(1), _forgiving(2)

    from streamlit import logger
    from streamlit.web.cli import main

    logger.set_log_level("ERROR")  # it warns about caches that are used before the server runs
    importlib.import_module("dialogue_warehouse.dashboard.app")
    main()
