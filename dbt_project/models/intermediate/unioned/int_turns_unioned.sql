{{ union_corpora('turns', [
    'turn_key',
    'dialogue_key',
    'corpus_id',
    'split',
    'turn_index',
    'source_turn_number',
    'role',
    'source_speaker',
    'event_type',
    'source_event_type',
    'utterance',
    'delexicalized_utterance',
    'occurred_at',
    'source_time',
    'intent',
    'next_step',
    'segment_count'
]) }}
