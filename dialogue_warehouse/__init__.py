"""The library that reads a published warehouse: the command line, pages, dialogues, lineage.

`pipelines` builds a warehouse and `expectations` audits it. Both import this package. It imports neither, except in the
commands of `cli` that build. It works without Dagster, dbt, Great Expectations, pyarrow and pandas.

What belongs here: code that reads, shows or returns published data, and code that reading and building share. What does
not: code that only a build needs.
"""
