{{ union_corpora('intent_acts') }}
