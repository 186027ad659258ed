{{ union_corpora('dialogues', [
    'dialogue_key',
    'corpus_id',
    'split',
    'source_split',
    'source_part',
    'dialogue_id',
    'id_occurrence',
    'source_file_id',
    'record_index',
    'record_pointer',
    'task',
    'source_task',
    'channel',
    'collection_method',
    'outcome_reward'
]) }}
