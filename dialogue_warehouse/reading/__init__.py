"""Reading what was published: a sandboxed connection, queries, the catalogue, dialogues, changes between builds.

What belongs here: whatever turns a published warehouse into Python values. What does not: printing
(`dialogue_warehouse.terminal`) and pages (`dialogue_warehouse.site`).
"""
