"""The way back to the source: trace a key, restore the release from core, compare both.

What belongs here: code that leads from a published row to its source file. What does not: finding the files of a source
(`dialogue_warehouse.releases`).
"""
