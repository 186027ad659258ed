{{ union_corpora('scenario_attributes', [
    'scenario_key',
    'corpus_id',
    'split',
    'position',
    'attribute',
    'value_type',
    'is_unique',
    'alpha'
]) }}
