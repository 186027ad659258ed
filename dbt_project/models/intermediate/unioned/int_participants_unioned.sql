{{ union_corpora('participants', [
    'dialogue_key',
    'corpus_id',
    'split',
    'source_speaker',
    'participant_type'
]) }}
