{{ union_corpora('key_pointers', [
    'traced_key',
    'corpus_id',
    'source_file_id',
    'record_index',
    'record_pointer',
    'json_pointer'
]) }}
