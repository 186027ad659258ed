{{ config(meta={'lacks': [
    'source_turn_number', 'source_speaker', 'source_event_type', 'delexicalized_utterance', 'occurred_at',
    'source_time', 'next_step', 'segment_count',
]}) }}

select
    dialogue_key || '/0' as turn_key,
    dialogue_key,
    corpus_id,
    split,
    0 as turn_index,

    'user' as role,
    'utterance' as event_type,
    dialogue_id as utterance,
    task as intent
from {{ ref('int_bbai__dialogues') }}
