"""The assets of the graph, a module a layer: raw, models, audit, published. Each module builds its own.

What an asset does is written in the module that it calls (`releases`, `modelling`, `expectations`, `publishing`); here
stand only keys, dependencies and what Dagster is told.
"""
