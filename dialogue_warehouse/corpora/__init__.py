"""The corpora: one folder each, and the modules that describe a corpus.

What belongs here: a package for each corpus, with the files that `registry.REQUIRED_FILES` names, and the modules that
all corpora share: the types that a release is declared with (`release`), its other forms (`forms`), generators
(`generation`), claims and known defects (`claims`), the suites made of them (`suites`), and the start of a new corpus
(`starting`). What does not: anything that processes a release. No module outside the folder of a corpus names it.
"""
