{{ config(meta={'lacks': [
    'source_turn_number', 'delexicalized_utterance', 'occurred_at', 'source_time', 'intent', 'next_step',
    'segment_count',
]}) }}

select
    dialogues.dialogue_key || '/' || cast(events.turn_index as string) as turn_key,
    dialogues.dialogue_key,
    dialogues.corpus_id,
    dialogues.split,
    events.turn_index,

    {{ role_of('events.agent', {'0': 'peer', '1': 'peer'}) }} as role,
    events.agent as source_speaker,
    case events.event_kind when 'say' then 'utterance' when 'take' then 'selection' else 'other' end as event_type,
    events.event_kind as source_event_type,
    events.message as utterance
from {{ ref('stg_bargain__events') }} as events
inner join {{ ref('int_bargain__dialogues') }} as dialogues
    on
        events.source_file_id = dialogues.source_file_id
        and events.record_index = dialogues.record_index
