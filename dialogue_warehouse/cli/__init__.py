"""The command `dialogue-warehouse`.

What belongs here: options, and calls of the functions that do the work. What does not: the work itself. Commands that
build import `pipelines` when they run, and say how to install it if it is missing.
"""
