{{ union_corpora('accounting', [
    'corpus_id',
    'entity',
    'record_entity',
    'published',
    'staged',
    'conformed'
]) }}
