{{ union_corpora('split_members', [
    'source_file_id',
    'record_index',
    'corpus_id',
    'split',
    'dialogue_id',
    'dialogue_key'
]) }}
