"""The start of the command `dialogue-warehouse`: no other program's module has the name of this package.

A module named `pipelines` in a folder of `PYTHONPATH` hides the package that does the work, so the command starts here,
puts its process in order (`environment`) and only then imports anything else. What belongs here: what has to happen
before the first import of the project. What does not: everything else, and any import but of the standard library.
"""
