{{ union_corpora('responses') }}
