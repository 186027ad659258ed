{#- A selection does not name an item but repeats it: item_index is the first equal item in the selector's own list. -#}
{{ config(meta={'lacks': ['frame_index', 'service', 'slot_name']}) }}

with

selections as (
    select
        source_file_id,
        record_index,
        turn_index,
        agent,
        {{ item_text() }} as item_text
    from {{ ref('stg_mutualfriends__selected_values') }}
    group by source_file_id, record_index, turn_index, agent
),

found as (
    select
        selections.source_file_id,
        selections.record_index,
        selections.turn_index,
        min(items.item_index) as item_index
    from selections
    inner join {{ ref('int_mutualfriends__items') }} as items
        on
            selections.source_file_id = items.source_file_id
            and selections.record_index = items.record_index
            and selections.agent = items.agent
            and selections.item_text = items.item_text
    group by selections.source_file_id, selections.record_index, selections.turn_index
)

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
    events.event_action as act,
    null as action_values,
    null as canonical_values,
    found.item_index
from {{ ref('stg_mutualfriends__events') }} as events
inner join {{ ref('int_mutualfriends__dialogues') }} as dialogues
    on
        events.source_file_id = dialogues.source_file_id
        and events.record_index = dialogues.record_index
left join found
    on
        events.source_file_id = found.source_file_id
        and events.record_index = found.record_index
        and events.turn_index = found.turn_index
where events.selected_item is not null
