{{ union_corpora('flows') }}
