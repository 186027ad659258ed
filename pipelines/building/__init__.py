"""One build: its session, the checks before it begins, its state, dbt, reused tables, publishing and alerts.

What belongs here: the session, and the steps that the assets call. What does not: the assets
(`pipelines.dagster_graph`), landing (`pipelines.ingestion`), and reading what is published
(`dialogue_warehouse.reading`).
"""
