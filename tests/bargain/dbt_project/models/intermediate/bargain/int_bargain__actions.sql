{{ config(meta={'lacks': [
    'frame_index', 'service', 'slot_name', 'action_values', 'canonical_values', 'item_index',
]}) }}

select
    dialogues.dialogue_key || '/' || cast(events.turn_index as string) || '/action/0' as action_key,
    dialogues.dialogue_key || '/' || cast(events.turn_index as string) as turn_key,
    dialogues.dialogue_key,
    dialogues.corpus_id,
    dialogues.split,
    events.turn_index,

    {{ role_of('events.agent', {'0': 'peer', '1': 'peer'}) }} as role,
    0 as action_index,
    'selection' as action_type,
    events.event_kind as act
from {{ ref('stg_bargain__events') }} as events
inner join {{ ref('int_bargain__dialogues') }} as dialogues
    on
        events.source_file_id = dialogues.source_file_id
        and events.record_index = dialogues.record_index
where events.takes is not null
