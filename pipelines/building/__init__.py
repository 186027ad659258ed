"""One build: its state, checks before it begins, dbt, what need not run again, publishing, alerts.

What belongs here: the steps that the assets call. What does not: the assets (`pipelines.dagster_graph`), landing
(`pipelines.ingestion`), and reading what is published (`dialogue_warehouse.reading`).
"""
