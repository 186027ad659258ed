"""Output of the commands for people.

What belongs here: tables, texts and the shell of a terminal. What does not: computing the printed data
(`dialogue_warehouse.reading`).
"""
