{{ union_corpora('guideline_steps', [
    'guideline_key',
    'corpus_id',
    'step_index',
    'step_type',
    'button',
    'act',
    'text',
    'subtext'
]) }}
