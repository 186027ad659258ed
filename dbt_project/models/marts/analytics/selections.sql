with

selections as (
    select
        actions.action_key,
        actions.turn_key,
        actions.dialogue_key,
        actions.corpus_id,
        actions.split,
        actions.turn_index,
        turns.source_speaker as agent,
        actions.item_index,
        row_number() over (partition by actions.dialogue_key order by actions.turn_index, actions.action_index)
            as place,
        row_number() over (
            partition by actions.dialogue_key, turns.source_speaker
            order by actions.turn_index desc, actions.action_index desc
        ) as place_from_end
    from {{ ref('fct_actions') }} as actions
    inner join {{ ref('fct_turns') }} as turns
        on actions.turn_key = turns.turn_key
    where actions.action_type = 'selection'
),

selected_values as (
    select
        turn_key,
        {{ list_agg_ordered('slot_name', 'value_index') }} as attributes,
        {{ list_agg_ordered('value', 'value_index') }} as attribute_values
    from {{ ref('fct_slots') }}
    where annotation_type = 'selection'
    group by turn_key
),

shared_items as (
    select distinct
        dialogue_key,
        agent,
        item_index
    from {{ ref('fct_knowledge_items') }}
    where is_shared
)

select
    selections.action_key,
    selections.turn_key,
    selections.dialogue_key,
    selections.corpus_id,
    selections.split,
    selections.turn_index,

    cast(selections.place - 1 as integer) as selection_index,
    selections.agent,
    selections.item_index,
    selected_values.attributes,
    selected_values.attribute_values,
    case when corpora.goal_kind = 'find_shared_item' then shared_items.item_index is not null end as is_shared,
    selections.place_from_end = 1 as is_last
from selections
inner join {{ ref('dim_corpora') }} as corpora
    on selections.corpus_id = corpora.corpus_id
left join selected_values
    on selections.turn_key = selected_values.turn_key
left join shared_items
    on
        selections.dialogue_key = shared_items.dialogue_key
        and selections.agent = shared_items.agent
        and selections.item_index = shared_items.item_index
