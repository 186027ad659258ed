"""The Python API: what `import dialogue_warehouse` offers. docs/python.md describes it.

What belongs here: the classes that users hold, and their documentation. What does not: reading, exporting and
rendering; the commands use the same functions of the packages below.
"""
