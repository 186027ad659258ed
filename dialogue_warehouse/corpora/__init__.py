"""The corpora: one folder each, and the modules that describe a corpus.

What belongs here: a package for each corpus, with the files that `registry.REQUIRED_FILES` names, and the modules that
all corpora share: the types that a release is declared with (`release`) and their types in SQL (`column_types`), its
other forms (`forms`), generators (`generation`), metrics (`scores`), claims and known defects (`claims`), the suites
made of them (`suites`), the queries of a corpus (`sections`), and the start of a new corpus (`starting`, `left_over`).
What does not: anything that processes a release. No module outside the folder of a corpus names it.
"""
