{{ union_corpora('pointer_forms', [
    'corpus_id',
    'key_form',
    'pointer_form',
    'other_pointer_form'
]) }}
