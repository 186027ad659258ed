with

shared_items as (
    select
        dialogue_key,
        agent,
        item_index,
        {{ item_text() }} as item_text
    from {{ ref('fct_knowledge_items') }}
    where is_shared
    group by dialogue_key, agent, item_index
),

shared as (
    select
        dialogue_key,
        count(distinct item_text) as items
    from shared_items
    group by dialogue_key
),

selections as (
    select
        actions.dialogue_key,
        turns.source_speaker as agent,
        actions.item_index,
        row_number() over (
            partition by actions.dialogue_key, turns.source_speaker order by actions.turn_index desc
        ) as place_from_end
    from {{ ref('fct_actions') }} as actions
    inner join {{ ref('fct_turns') }} as turns
        on actions.turn_key = turns.turn_key
    where actions.action_type = 'selection'
),

selected as (
    select
        selections.dialogue_key,
        count(*) as selections,
        count(*) filter (where selections.place_from_end = 1) as selectors,
        count(shared_items.item_text) filter (where selections.place_from_end = 1) as finders,
        count(distinct case when selections.place_from_end = 1 then shared_items.item_text end) as found_items
    from selections
    left join shared_items
        on
            selections.dialogue_key = shared_items.dialogue_key
            and selections.agent = shared_items.agent
            and selections.item_index = shared_items.item_index
    group by selections.dialogue_key
),

judged as (
    select
        dialogues.dialogue_key,
        dialogues.corpus_id,
        dialogues.split,
        coalesce(shared.items, 0) as shared_item_count,
        coalesce(selected.selections, 0) as selection_count,
        coalesce(selected.selectors, 0) as selector_count,
        coalesce(selected.finders, 0) as finder_count,
        coalesce(selected.finders = 2 and selected.found_items = 1, false) as is_found,
        dialogues.outcome_reward
    from {{ ref('dim_dialogues') }} as dialogues
    inner join {{ ref('dim_corpora') }} as corpora
        on dialogues.corpus_id = corpora.corpus_id
    left join shared
        on dialogues.dialogue_key = shared.dialogue_key
    left join selected
        on dialogues.dialogue_key = selected.dialogue_key
    where corpora.goal_kind = 'find_shared_item'
)

select
    dialogue_key,
    corpus_id,
    split,

    cast(shared_item_count as integer) as shared_item_count,
    shared_item_count = 1 as is_solvable,
    cast(selection_count as integer) as selection_count,
    cast(selector_count as integer) as selector_count,
    cast(finder_count as integer) as finder_count,
    is_found,

    outcome_reward,
    (outcome_reward = 1) = is_found as is_reward_earned
from judged
