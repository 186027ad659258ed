"""A warehouse folder on disk: which builds there are, which one is published, what a landing recorded.

What belongs here: reading and changing that state without building. What does not: rows (`dialogue_warehouse.reading`)
and making a build (`pipelines.building`).
"""
