"""Code that every other package uses: files, JSON values, text, database connections, processes, progress.

What belongs here: code that knows neither a corpus nor a warehouse. What does not: any rule about dialogues.
"""
