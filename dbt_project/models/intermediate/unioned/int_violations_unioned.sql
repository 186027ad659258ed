{{ union_corpora('violations', [
    'rule_id',
    'corpus_id',
    'source_file_id',
    'record_index',
    'dialogue_key',
    'turn_index',
    'row_key',
    'detail',
    'upstream_reference'
]) }}
