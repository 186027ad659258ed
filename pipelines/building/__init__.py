"""The steps of one build: its state, the checks before it begins, dbt, reused tables, publishing and alerts.

What belongs here: the steps that the assets call. What does not: the assets (`pipelines.dagster_graph`), landing
(`pipelines.ingestion`), and reading what is published (`dialogue_warehouse.reading`).
"""
