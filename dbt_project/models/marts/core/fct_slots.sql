{{ union_corpora('slots') }}
