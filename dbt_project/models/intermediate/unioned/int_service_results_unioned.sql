{{ union_corpora('service_results', [
    'result_key',
    'turn_key',
    'dialogue_key',
    'corpus_id',
    'split',
    'turn_index',
    'frame_index',
    'service',
    'result_index',
    'entity'
]) }}
