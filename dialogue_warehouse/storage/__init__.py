"""The state of a warehouse folder on disk: its builds, the published build, the records of landings.

What belongs here: reading and changing that state without building. What does not: rows (`dialogue_warehouse.reading`)
and making a build (`pipelines.building`).
"""
