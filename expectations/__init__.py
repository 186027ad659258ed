"""The audit: Great Expectations suites over the warehouse's core tables, and the child process that runs them.

What belongs here: the DuckDB dialect Great Expectations needs, the suites (from the corpora's claims.toml and from
marts.toml), the audit and its client. What does not: our own keys and relationships (dbt tests) and code (pytest).
Great Expectations and SQLAlchemy are imported by `dialect` and `validation` alone, and by no module that imports fast.
"""
