{{ union_corpora('actions', [
    'action_key',
    'turn_key',
    'dialogue_key',
    'corpus_id',
    'split',
    'turn_index',
    'frame_index',
    'role',
    'action_index',
    'action_type',
    'service',
    'act',
    'slot_name',
    'action_values',
    'canonical_values',
    'item_index'
]) }}
