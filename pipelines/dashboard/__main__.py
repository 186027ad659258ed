"""Streamlit's command line with the pages imported already: the first reader does not wait for that."""

from __future__ import annotations

import importlib

from streamlit import logger
from streamlit.web.cli import main

if __name__ == "__main__":
    logger.set_log_level("ERROR")  # it warns of what is kept before there is a server
    importlib.import_module("pipelines.dashboard.menu")
    main()
