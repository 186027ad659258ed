{{ union_corpora('intent_slots') }}
