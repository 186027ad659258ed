"""The warehouse as training data, in several forms.

What belongs here: a module for each form, and what all forms share. What does not: how the dialogues of one corpus
become messages or preferences (`dialogue_warehouse.corpora.<corpus_id>`), and which dialogues are selected
(`dialogue_warehouse.reading.selection`).
"""
