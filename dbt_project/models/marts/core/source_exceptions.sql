{{ union_corpora('exceptions') }}
