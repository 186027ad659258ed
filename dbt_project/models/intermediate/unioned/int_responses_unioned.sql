{{ union_corpora('responses', [
    'response_key',
    'dialogue_key',
    'corpus_id',
    'split',
    'agent_id',
    'response'
]) }}
