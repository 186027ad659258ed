{{ union_corpora('acts', [
    'corpus_id',
    'act',
    'act_group',
    'action_type',
    'position',
    'description'
]) }}
