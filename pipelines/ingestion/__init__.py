"""From the publisher to typed raw Parquet: download, check, land; and write generated releases.

What belongs here: code that handles a publisher's bytes before dbt does, and the raw layer that dbt reads. What does
not: the form of a corpus's files (`dialogue_warehouse.corpora`), and finding them (`dialogue_warehouse.releases`). No
module names a corpus.
"""
