{{ union_corpora('intent_slots', [
    'intent_key',
    'corpus_id',
    'split',
    'slot',
    'requirement',
    'position',
    'default_value'
]) }}
