{{ union_corpora('vocabulary') }}
