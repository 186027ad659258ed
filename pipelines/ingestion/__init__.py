"""From upstream to typed raw Parquet: download, check, land; and generated releases.

What belongs here: whatever handles a publisher's bytes before dbt does, and the raw layer that dbt reads. What does
not: how a corpus' files look (`dialogue_warehouse.corpora`), and finding them (`dialogue_warehouse.releases`). Knows no
corpus by name.
"""
