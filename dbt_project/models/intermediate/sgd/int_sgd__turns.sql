{{ config(meta={'lacks': [
    'source_turn_number', 'source_event_type', 'delexicalized_utterance', 'occurred_at', 'source_time', 'intent',
    'next_step', 'segment_count',
]}) }}

select
    dialogues.dialogue_key || '/' || cast(turns.turn_index as string) as turn_key,
    dialogues.dialogue_key,
    dialogues.corpus_id,
    dialogues.split,
    turns.turn_index,

    {{ role_of('turns.speaker', {'USER': 'user', 'SYSTEM': 'system'}) }} as role,
    turns.speaker as source_speaker,
    'utterance' as event_type,
    turns.utterance
from {{ ref('stg_sgd__nested_turns') }} as turns
inner join {{ ref('int_sgd__dialogues') }} as dialogues
    on
        turns.source_file_id = dialogues.source_file_id
        and turns.record_index = dialogues.record_index
