"""From upstream to typed Parquet: download, find, check, land; and the generated releases that stand in for real ones.

What belongs here: everything that touches a publisher's bytes before dbt does, and the raw layer that dbt reads.
What does not: what a corpus's files look like (`dialogue_warehouse.corpora`), the database (`pipelines.building`), and reading
what was published (`dialogue_warehouse.reading`). Knows no corpus by name.
"""
