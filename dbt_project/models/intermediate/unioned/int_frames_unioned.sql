{{ union_corpora('frames', [
    'frame_key',
    'turn_key',
    'dialogue_key',
    'corpus_id',
    'split',
    'turn_index',
    'frame_index',
    'service',
    'active_intent',
    'requested_slots'
]) }}
