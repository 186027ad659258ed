{{ union_corpora('intent_acts', [
    'corpus_id',
    'intent',
    'position',
    'act'
]) }}
