{{ union_corpora('pointer_forms') }}
