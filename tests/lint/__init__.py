"""What `make lint` needs beyond ready-made linters: it brings every piece of SQL in the clone before SQLFluff.

Here belongs what finds SQL, whatever file it stands in, and leads a finding back to the line that a person edits. The
rules are SQLFluff's, listed in pyproject.toml; no rule is written here. See https://docs.sqlfluff.com.
"""
