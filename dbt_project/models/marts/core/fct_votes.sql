{{ union_corpora('votes') }}
