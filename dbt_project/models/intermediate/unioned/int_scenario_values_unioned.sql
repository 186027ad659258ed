{{ union_corpora('scenario_values', [
    'scenario_key',
    'corpus_id',
    'split',
    'section',
    'field',
    'value_index',
    'value'
]) }}
