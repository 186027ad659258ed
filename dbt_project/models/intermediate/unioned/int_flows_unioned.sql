{{ union_corpora('flows', [
    'corpus_id',
    'flow',
    'position'
]) }}
