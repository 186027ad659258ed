{{ union_corpora('act_slots', [
    'corpus_id',
    'act',
    'position',
    'slot'
]) }}
