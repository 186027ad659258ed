"""What was published, read: which build it is, a connection that can do nothing else, queries, catalogue, printing.

What belongs here: everything that opens a published build for a reader. What does not: making one
(`pipelines.building`), comparing it with its source (`dialogue_warehouse.lineage`), and any write to the warehouse.
"""
