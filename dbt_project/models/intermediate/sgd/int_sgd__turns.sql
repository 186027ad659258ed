select
    dialogues.dialogue_key || '/' || cast(turns.turn_index as string) as turn_key,
    dialogues.dialogue_key,
    dialogues.corpus_id,
    dialogues.split,
    turns.turn_index,

    cast(null as integer) as source_turn_number,
    {{ role_of('turns.speaker', {'USER': 'user', 'SYSTEM': 'system'}) }} as role,
    turns.speaker as source_speaker,
    'utterance' as event_type,
    cast(null as string) as source_event_type,
    turns.utterance,
    cast(null as string) as delexicalized_utterance,
    cast(null as timestamp) as occurred_at,
    cast(null as string) as source_time,
    cast(null as string) as intent,
    cast(null as string) as next_step,
    cast(null as integer) as segment_count
from {{ ref('stg_sgd__nested_turns') }} as turns
inner join {{ ref('int_sgd__dialogues') }} as dialogues
    on
        turns.source_file_id = dialogues.source_file_id
        and turns.record_index = dialogues.record_index
