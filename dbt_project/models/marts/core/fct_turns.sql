{{ union_corpora('turns') }}
