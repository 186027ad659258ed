{{ union_corpora('guidelines') }}
