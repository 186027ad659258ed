{{ union_corpora('exceptions', [
    'source_file_id',
    'corpus_id',
    'json_pointer',
    'form'
]) }}
