{{ union_corpora('agents') }}
