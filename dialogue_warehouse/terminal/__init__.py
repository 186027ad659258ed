"""What a command prints for a person.

What belongs here: tables, texts and the shell of a terminal. What does not: finding out what is printed
(`dialogue_warehouse.reading`).
"""
