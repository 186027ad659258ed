{{ union_corpora('agents', [
    'agent_id',
    'corpus_id',
    'source_name',
    'position',
    'description'
]) }}
