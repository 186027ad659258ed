{#- Defects of Bargain: one CTE per rule, named after the rule; claims.toml describes each under [[defects]]. -#}
with

last_turns as (
    select
        turns.dialogue_key,
        turns.source_speaker,
        max(turns.turn_index) as turn_index
    from {{ ref('fct_turns') }} as turns
    inner join {{ ref('fct_actions') }} as actions
        on turns.turn_key = actions.turn_key
    where actions.corpus_id = 'bargain' and actions.action_type = 'selection'
    group by turns.dialogue_key, turns.source_speaker
),

taken as (
    select
        slots.dialogue_key,
        slots.slot_name as item,
        sum(slots.integer_value) as items
    from {{ ref('fct_slots') }} as slots
    inner join last_turns
        on
            slots.dialogue_key = last_turns.dialogue_key
            and slots.turn_index = last_turns.turn_index
    where slots.corpus_id = 'bargain' and slots.annotation_type = 'selection'
    group by slots.dialogue_key, slots.slot_name
),

there as (
    select
        names.dialogue_key,
        names.value as item,
        sum(counts.integer_value) as items
    from {{ ref('fct_knowledge_items') }} as names
    inner join {{ ref('fct_knowledge_items') }} as counts
        on
            names.dialogue_key = counts.dialogue_key
            and names.agent = counts.agent
            and names.item_index = counts.item_index
    where names.corpus_id = 'bargain' and names.agent = '0' and names.attribute = 'name' and counts.attribute = 'count'
    group by names.dialogue_key, names.value
),

uneven_division as (
    select
        dialogues.dialogue_key,
        dialogues.dialogue_key as row_key,
        cast(count(*) as string) || ' kinds of items are not divided as they are' as detail
    from {{ ref('dim_dialogues') }} as dialogues
    inner join there
        on dialogues.dialogue_key = there.dialogue_key
    left join taken
        on
            there.dialogue_key = taken.dialogue_key
            and there.item = taken.item
    where
        dialogues.corpus_id = 'bargain'
        and dialogues.outcome_reward = 1
        and coalesce(taken.items, 0) <> there.items
    group by dialogues.dialogue_key
)

{{ stack_rules('bargain', dialogues=['uneven_division']) }}
