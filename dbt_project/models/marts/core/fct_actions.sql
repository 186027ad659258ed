{{ union_corpora('actions') }}
