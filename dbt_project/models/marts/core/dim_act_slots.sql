{{ union_corpora('act_slots') }}
