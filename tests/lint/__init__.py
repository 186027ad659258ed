"""The part of `make lint` that ready-made linters lack: it passes every piece of SQL in the clone to SQLFluff.

What belongs here: finding SQL in files of any kind, and mapping a finding to the line that a person edits. The rules
are SQLFluff's, listed in pyproject.toml; no rule is written here. See https://docs.sqlfluff.com.
"""
