select
    dialogues.dialogue_key || '/' || cast(turns.turn_index as string) || '/action/0' as action_key,
    dialogues.dialogue_key || '/' || cast(turns.turn_index as string) as turn_key,
    dialogues.dialogue_key,
    dialogues.corpus_id,
    dialogues.split,
    turns.turn_index,
    cast(null as integer) as frame_index,

    {{ role_of('turns.speaker', {'customer': 'user', 'agent': 'system', 'action': 'system'}) }} as role,
    0 as action_index,
    'button' as action_type,
    cast(null as string) as service,
    turns.act,
    cast(null as string) as slot_name,
    turns.action_values,
    null as canonical_values,
    cast(null as integer) as item_index
from {{ ref('stg_abcd__delexed_turns') }} as turns
inner join {{ ref('int_abcd__dialogues') }} as dialogues
    on
        turns.source_file_id = dialogues.source_file_id
        and turns.source_part = dialogues.source_part
        and turns.record_index = dialogues.record_index
where turns.act is not null
