{{ union_corpora('classifier_examples', [
    'example_key',
    'source_file_id',
    'record_index',
    'corpus_id',
    'split',
    'utterance',
    'labels',
    'dialogue_key'
]) }}
