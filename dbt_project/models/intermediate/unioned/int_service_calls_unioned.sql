{{ union_corpora('service_calls', [
    'call_key',
    'turn_key',
    'dialogue_key',
    'corpus_id',
    'split',
    'turn_index',
    'frame_index',
    'service',
    'method',
    'result_count'
]) }}
