"""What every other package uses: files, JSON values, text, database connections, processes, progress.

What belongs here: what knows neither a corpus nor a warehouse. What does not: anything with a rule about dialogues.
"""
