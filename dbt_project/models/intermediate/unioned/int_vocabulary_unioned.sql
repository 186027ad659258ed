{{ union_corpora('vocabulary', [
    'corpus_id',
    'kind',
    'position',
    'term'
]) }}
