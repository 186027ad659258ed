{{ config(meta={'lacks': [
    'source_event_type', 'delexicalized_utterance', 'occurred_at', 'source_time', 'intent', 'next_step',
]}) }}

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
    utterances.utterance,
    utterances.segment_count
from {{ ref('stg_taskmaster1__utterances') }} as utterances
inner join {{ ref('int_taskmaster1__dialogues') }} as dialogues
    on
        utterances.source_file_id = dialogues.source_file_id
        and utterances.record_index = dialogues.record_index
