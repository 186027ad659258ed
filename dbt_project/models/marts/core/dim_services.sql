{{ union_corpora('services') }}
