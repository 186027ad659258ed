{{ union_corpora('knowledge_items', [
    'knowledge_key',
    'dialogue_key',
    'corpus_id',
    'split',
    'agent',
    'item_index',
    'attribute_index',
    'attribute',
    'value',
    'is_shared'
]) }}
