{{ union_corpora('candidates') }}
