{{ union_corpora('scenarios', [
    'scenario_key',
    'corpus_id',
    'split',
    'scenario_id',
    'flow',
    'subflow'
]) }}
