"""Read a published warehouse: a sandboxed connection, queries, the catalog, dialogues, changes between builds.

What belongs here: code that turns a published warehouse into Python values. What does not: printing
(`dialogue_warehouse.terminal`) and pages (`dialogue_warehouse.site`).
"""
