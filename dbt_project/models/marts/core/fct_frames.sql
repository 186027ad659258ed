{{ union_corpora('frames') }}
