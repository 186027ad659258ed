"""The command `dialogue-warehouse`.

What belongs here: options, and calling the function that does the work. What does not: the work itself. Commands that
build import `pipelines` when they run, and say what to install where it is missing.
"""
