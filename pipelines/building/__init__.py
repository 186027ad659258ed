"""One build, from the lock it holds to the link that readers open.

What belongs here: the running graph and its state, dbt, the fingerprint that says whether anything changed, publishing,
what is kept, and what the user is told meanwhile. What does not: the graph's assets (`pipelines.dagster_graph`), which call
this room; landing (`pipelines.ingestion`); reading what is published (`dialogue_warehouse.reading`).
"""
