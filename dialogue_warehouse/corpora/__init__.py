"""The corpus rooms, and what a room is made of: the types it declares itself with, and the registry that finds it.

What belongs here: a package a corpus, with the same furniture in each (`registry.FURNITURE`), and beside them the
vocabulary that rooms share: records and entities (`room`), other forms (`forms`), generating (`generation`), claims and
known defects (`claims`), and reading what is declared in TOML (`declarations`). What does not: anything that processes
a release. Nothing outside the rooms names a corpus.
"""
