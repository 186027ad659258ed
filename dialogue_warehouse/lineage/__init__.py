"""Proof that nothing is lost: the release rebuilt from core and compared, and the way from any key to its source.

What belongs here: whatever holds a build against the files that it was made from. What does not: claims about a corpus
(`expectations`), and reading a build for its own sake (`dialogue_warehouse.reading`).
"""
