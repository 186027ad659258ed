{{ config(meta={'lacks': ['source_turn_number', 'delexicalized_utterance', 'intent', 'next_step', 'segment_count']}) }}

select
    dialogues.dialogue_key || '/' || cast(events.turn_index as string) as turn_key,
    dialogues.dialogue_key,
    dialogues.corpus_id,
    dialogues.split,
    events.turn_index,

    {{ role_of('events.agent', {'0': 'peer', '1': 'peer'}) }} as role,
    events.agent as source_speaker,
    case events.event_action when 'message' then 'utterance' when 'select' then 'selection' else 'other' end
        as event_type,
    events.event_action as source_event_type,
    events.message as utterance,
    cast('1970-01-01 00:00:00' as timestamp) + interval '1' second * cast(events.source_time as double) as occurred_at,
    events.source_time
from {{ ref('stg_mutualfriends__events') }} as events
inner join {{ ref('int_mutualfriends__dialogues') }} as dialogues
    on
        events.source_file_id = dialogues.source_file_id
        and events.record_index = dialogues.record_index
