"""Build a warehouse: orchestration and ingestion. Needs the extra `build`.

Data flows up this list of packages, and a package imports only from those below it: `definitions`, `dagster_graph`,
`building`, `expectations` (a separate package), `ingestion`, `cluster`, then `dialogue_warehouse`.

What belongs here: code that only a build needs. What does not: code that reads a published warehouse.
"""
