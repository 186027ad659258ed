"""The way back to the source: trace a key, restore the release from core, compare both.

What belongs here: whatever leads from a published row to the file it comes from. What does not: finding the files of a
source (`dialogue_warehouse.releases`).
"""
