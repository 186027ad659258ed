"""The audit: Great Expectations suites over the warehouse's core tables, and the child process that runs them.

What belongs here: the DuckDB dialect that Great Expectations needs, the suites (from the corpora's claims.toml and from
marts.toml), the audit and its client. What does not: keys and relationships (dbt tests) and code (pytest). Only
`dialect` and `validation` import Great Expectations and SQLAlchemy; no module that must import fast does.
"""
