{{ config(meta={'lacks': ['item_index']}) }}

select
    dialogues.dialogue_key || '/' || cast(actions.turn_index as string) || '/frame/'
        || cast(actions.frame_index as string) || '/action/' || cast(actions.action_index as string) as action_key,
    dialogues.dialogue_key || '/' || cast(actions.turn_index as string) as turn_key,
    dialogues.dialogue_key,
    dialogues.corpus_id,
    dialogues.split,
    actions.turn_index,
    actions.frame_index,

    {{ role_of('actions.speaker', {'USER': 'user', 'SYSTEM': 'system'}) }} as role,
    actions.action_index,
    'dialogue_act' as action_type,
    actions.service,
    actions.act,
    nullif(actions.slot, '') as slot_name,
    actions.action_values,
    actions.canonical_values
from {{ ref('stg_sgd__actions') }} as actions
inner join {{ ref('int_sgd__dialogues') }} as dialogues
    on
        actions.source_file_id = dialogues.source_file_id
        and actions.record_index = dialogues.record_index
