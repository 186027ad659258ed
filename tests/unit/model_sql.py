"""The SQL of a model, as tests read it."""

from __future__ import annotations

import re


def plain_sql(text: str) -> str:
    """Return the SQL of a model without its Jinja: comments, statements and calls are replaced by blanks."""
    text = re.sub(r"{#.*?#}", "", text, flags=re.S)
    text = re.sub(r"{%.*?%}", "", text, flags=re.S)
    text = re.sub(r"{{.*?}}", "x", text, flags=re.S)
    text = re.sub(r"'(?:[^']|'')*'", "''", text)
    return re.sub(r"--.*", "", text)
