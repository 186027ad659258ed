"""Builds a warehouse: orchestration and ingestion. Needs the extra `build`.

Data flows up this list of packages, and imports lead only down it: `definitions`, `dagster_graph`, `building`,
`expectations` (a package of its own), `ingestion`, `cluster`, then `dialogue_warehouse`. What belongs here: what only a
build needs. What does not: whatever reads a published warehouse.
"""
