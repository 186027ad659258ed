{{ config(meta={'lacks': ['frame_index', 'service', 'slot_name', 'item_index']}) }}

select
    dialogues.dialogue_key || '/' || cast(turns.turn_index as string) || '/action/0' as action_key,
    dialogues.dialogue_key || '/' || cast(turns.turn_index as string) as turn_key,
    dialogues.dialogue_key,
    dialogues.corpus_id,
    dialogues.split,
    turns.turn_index,

    {{ role_of('turns.speaker', {'customer': 'user', 'agent': 'system', 'action': 'system'}) }} as role,
    0 as action_index,
    'button' as action_type,
    turns.act,
    turns.action_values,
    null as canonical_values
from {{ ref('stg_abcd__delexed_turns') }} as turns
inner join {{ ref('int_abcd__dialogues') }} as dialogues
    on
        turns.source_file_id = dialogues.source_file_id
        and turns.source_part = dialogues.source_part
        and turns.record_index = dialogues.record_index
where turns.act is not null
