{{ union_corpora('acts') }}
