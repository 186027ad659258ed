{{ union_corpora('scenarios') }}
