"""Streamlit's command line with the pages imported already: the first reader does not wait for that.

Streamlit reads `.streamlit/config.toml` in the home and in the working folder, which may be another program's, such as
one that moves every page. While it serves, this package's own folder is both, and has none.
"""

from __future__ import annotations

import importlib
import os
from pathlib import Path

if __name__ == "__main__":
    importlib.import_module("pipelines.paths")  # what is kept in the user's home stays there
    folder = Path(__file__).parent
    os.chdir(folder)
    os.environ["HOME"] = str(folder)

    from streamlit import logger
    from streamlit.web.cli import main

    logger.set_log_level("ERROR")  # it warns of what is kept before there is a server
    importlib.import_module("pipelines.dashboard.menu")
    main()
