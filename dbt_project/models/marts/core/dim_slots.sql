{{ union_corpora('slot_definitions') }}
