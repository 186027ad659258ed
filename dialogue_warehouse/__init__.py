"""The library that reads a published warehouse: the command line, pages, dialogues, lineage.

`pipelines` builds a warehouse, `expectations` audits it, and both import this package; it imports neither, except for
the commands of `cli` that build. It works without Dagster, dbt, Great Expectations, pyarrow and pandas.

What belongs here: what reads, shows or returns what was published, and what reading and building share. What does not:
what only a build needs.
"""
