{{ union_corpora('services', [
    'service_definition_key',
    'corpus_id',
    'split',
    'service',
    'domain',
    'source_name',
    'vertical',
    'description',
    'position'
]) }}
