select
    dialogues.dialogue_key || '/' || cast(utterances.turn_index as string) as turn_key,
    dialogues.dialogue_key,
    dialogues.corpus_id,
    dialogues.split,
    utterances.turn_index,

    utterances.source_turn_number,
    {{ role_of('utterances.speaker', {'USER': 'user', 'ASSISTANT': 'system'}) }} as role,
    utterances.speaker as source_speaker,
    'utterance' as event_type,
    cast(null as string) as source_event_type,
    utterances.utterance,
    cast(null as string) as delexicalized_utterance,
    cast(null as timestamp) as occurred_at,
    cast(null as string) as source_time,
    cast(null as string) as intent,
    cast(null as string) as next_step,
    utterances.segment_count
from {{ ref('stg_taskmaster1__utterances') }} as utterances
inner join {{ ref('int_taskmaster1__dialogues') }} as dialogues
    on
        utterances.source_file_id = dialogues.source_file_id
        and utterances.record_index = dialogues.record_index
