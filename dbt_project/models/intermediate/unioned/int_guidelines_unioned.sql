{{ union_corpora('guidelines', [
    'guideline_key',
    'corpus_id',
    'position',
    'flow_title',
    'flow_position',
    'flow_description',
    'subflow_title',
    'intent',
    'instructions'
]) }}
