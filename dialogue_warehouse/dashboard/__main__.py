"""Streamlit's command line with the pages imported already: the first reader does not wait for that.

Streamlit reads `.streamlit/config.toml` in the home and in the working folder, which may be another program's, such as
one that moves every page. While it serves, this package's own folder is both, and has none. Streamlit prints that it
stops before it does: without a reader of its output it would never end.
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
    """An output; what cannot be written to it is lost."""

    def write(self, data: ReadableBuffer, /) -> int:
        """Write what can be written."""
        with contextlib.suppress(OSError):
            return super().write(data)
        return memoryview(data).nbytes


def _forgiving(number: int) -> io.TextIOWrapper:
    """The output of this number, as text; no error comes of writing to it."""
    output = io.BufferedWriter(_Output(number, "w", closefd=False))
    return io.TextIOWrapper(output, encoding="utf-8", errors="backslashreplace", line_buffering=True)


if __name__ == "__main__":
    importlib.import_module("dialogue_warehouse.paths")  # what is kept in the user's home stays there
    folder = Path(__file__).parent
    os.chdir(folder)
    os.environ["HOME"] = str(folder)
    sys.stdout, sys.stderr = _forgiving(1), _forgiving(2)

    from streamlit import logger
    from streamlit.web.cli import main

    logger.set_log_level("ERROR")  # it warns of what is kept before there is a server
    importlib.import_module("dialogue_warehouse.dashboard.app")
    main()
