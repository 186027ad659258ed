-- What makes it hard to find the mutual friend: long lists, many attributes, or values that repeat?
-- One row per factor and level.
--
-- Columns
--   factor: all, items (of each person's list), attributes (of an item), lowest_alpha (of the attributes)
--   level: its value; NULL for all
--   dialogues: dialogues at this level
--   completed: dialogues with outcome_reward 1
--   completed_percent: their share, one decimal
--   found_by_both: dialogues where the last selection of each person is the mutual friend: the reward should be 1 for
--     these
--   selections_per_dialogue: mean over all dialogues, two decimals
--   turns_when_completed: messages and selections of a completed dialogue, mean, two decimals; NULL if there is none
--   messages_when_completed: messages alone, mean, two decimals
--   seconds_when_completed: from the first event to the last, mean, two decimals
--
-- Reads: core.dim_corpora, core.dim_dialogues, core.dim_scenario_attributes, core.fct_knowledge_items, core.fct_turns,
--   analytics.scenario_solvability
-- Expect: found_by_both = completed in every row; this was checked only on a part of the release. An attribute with a
--   low alpha repeats few values, so that a value narrows the choice less. An empty dialogue counts as not completed.
-- Source: the definitions of the authors' dataset_statistics.py. Their paper (2017) counts 9,041 of 11,157 dialogues as
--   completed, 11.41 utterances and 91.18 seconds on average; not verified, because the release was not available.
with

attributes as (
    select
        scenario_key,
        count(*) as attributes,
        min(alpha) as lowest_alpha
    from core.dim_scenario_attributes
    group by scenario_key
),

items as (
    select
        dialogue_key,
        max(item_index) + 1 as items
    from core.fct_knowledge_items
    group by dialogue_key
),

clocks as (
    select
        dialogue_key,
        epoch_ms(max(occurred_at)) - epoch_ms(min(occurred_at)) as milliseconds
    from core.fct_turns
    where corpus_id in (select corpus_id from core.dim_corpora where goal_kind = 'find_shared_item')
    group by dialogue_key
),

dialogues as (
    select
        dialogues.outcome_reward = 1 as is_completed,
        dialogues.turn_count,
        dialogues.utterance_count,
        clocks.milliseconds,
        solvability.selection_count,
        solvability.is_found,
        attributes.attributes,
        attributes.lowest_alpha,
        items.items
    from core.dim_dialogues as dialogues
    inner join analytics.scenario_solvability as solvability
        on dialogues.dialogue_key = solvability.dialogue_key
    left join attributes
        on dialogues.dialogue_key = attributes.scenario_key
    left join items
        on dialogues.dialogue_key = items.dialogue_key
    left join clocks
        on dialogues.dialogue_key = clocks.dialogue_key
)

select
    case
        when grouping(items) = 0 then 'items'
        when grouping(attributes) = 0 then 'attributes'
        when grouping(lowest_alpha) = 0 then 'lowest_alpha'
        else 'all'
    end as factor,
    coalesce(cast(items as varchar), cast(attributes as varchar), cast(lowest_alpha as varchar)) as level,

    count(*) as dialogues,
    count(*) filter (where is_completed) as completed,
    round(100.0 * count(*) filter (where is_completed) / count(*), 1) as completed_percent,
    count(*) filter (where is_found) as found_by_both,
    round(avg(selection_count), 2) as selections_per_dialogue,

    round(avg(turn_count) filter (where is_completed), 2) as turns_when_completed,
    round(avg(utterance_count) filter (where is_completed), 2) as messages_when_completed,
    round(avg(milliseconds) filter (where is_completed) / 1000, 2) as seconds_when_completed
from dialogues
group by grouping sets ((), (items), (attributes), (lowest_alpha))
having count(*) > 0
order by factor, length(level), level
