"""The address of a key in the dashboard, for whatever leads there."""

from __future__ import annotations

import urllib.parse

HOST, PORT = "127.0.0.1", 8501
"""Where the dashboard is served unless it is said otherwise."""


def address(key: str) -> str:
    """The dialogue of a key, the row marked. With a path Streamlit would look for its own files there."""
    return f"/?{urllib.parse.urlencode({'key': key}, safe='/~')}"


def url(key: str) -> str:
    """The same with this machine's own dashboard before it."""
    return f"http://{HOST}:{PORT}{address(key)}"
