{{ union_corpora('participants') }}
