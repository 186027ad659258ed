{{ union_corpora('split_members') }}
