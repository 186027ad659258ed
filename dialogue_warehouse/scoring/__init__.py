"""The official metrics of a corpus over predictions: read strictly, computed in SQL, kept as tables.

What belongs here: what all corpora share, which is reading files of predictions, comparing texts, statistics over
units, and the file of results. What does not: the metrics of one corpus (`dialogue_warehouse.corpora.<corpus_id>`), and
how results are printed (`dialogue_warehouse.cli`).
"""
