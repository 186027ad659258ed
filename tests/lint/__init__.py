"""Additions of `make lint` to ready-made linters: all SQL of the clone is passed to SQLFluff.

What belongs here: finding SQL in any file, and leading a finding back to the line that a person edits. What does not:
the rules, which are SQLFluff's, listed in pyproject.toml. See https://docs.sqlfluff.com.
"""
