{{ union_corpora('dialogue_services', [
    'dialogue_key',
    'corpus_id',
    'split',
    'position',
    'service',
    'domain'
]) }}
