"""Orchestration and ingestion of the dialogue warehouse: from raw releases to one published database.

Data flows down this list of rooms, and imports lead only down it: `definitions`, `cli`, `assets` with `jobs`,
`schedules`, `sensors` and `resources`, `report`, `building`, `expectations` (a package of its own), `proving`,
`reading`, `intake`, `corpora`, `settings`, `paths` and `errors`. What belongs here: a module that is
none of a room's. What does not: everything else.
"""
