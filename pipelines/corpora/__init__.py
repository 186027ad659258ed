"""The corpus rooms: one package a corpus, the same furniture in each (see `pipelines.corpus`)."""
