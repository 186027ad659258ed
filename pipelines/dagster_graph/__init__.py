"""The graph of assets, a module a layer: raw, models, audit, restoration, published; `graph` puts them together.

What belongs here: keys, dependencies, and what Dagster is told. What does not: what an asset does, which is written in
the rooms that it calls (`intake`, `building`, `expectations`, `proving`, `report`).
"""
