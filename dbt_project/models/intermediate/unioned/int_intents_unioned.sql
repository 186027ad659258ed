{{ union_corpora('intents', [
    'intent_key',
    'corpus_id',
    'split',
    'service',
    'intent',
    'position',
    'description',
    'is_transactional',
    'parent_intent',
    'parent_position'
]) }}
