{#- Properties of the scenario that a dialogue was given, and of the strategy of the two people. -#}
{%- set factors = [
    ('all', 'cast(null as double)'),
    ('item_count', 'items.items'),
    ('attribute_count', 'attributes.attributes'),
    ('lowest_alpha', 'attributes.lowest_alpha'),
    ('selection_count', 'solvability.selection_count'),
    ('question_count', 'turns.questions'),
    ('turns_before_selection', 'turns.turns_before_selection'),
] -%}
with

attributes as (
    select
        scenario_key,
        count(attribute) as attributes,
        min(alpha) as lowest_alpha
    from {{ ref('dim_scenario_attributes') }}
    group by scenario_key
),

items as (
    select
        dialogue_key,
        max(item_index) + 1 as items
    from {{ ref('fct_knowledge_items') }}
    group by dialogue_key
),

turns as (
    select
        dialogue_key,
        count(*) filter (where event_type = 'utterance' and utterance like '%?%') as questions,
        min(case when event_type = 'selection' then turn_index end) as turns_before_selection
    from {{ ref('fct_turns') }}
    where corpus_id in (select corpus_id from {{ ref('dim_corpora') }} where goal_kind = 'find_shared_item')
    group by dialogue_key
),

dialogues as (
    select
        solvability.corpus_id,
        solvability.split,
        {%- for factor, level in factors %}
        cast({{ level }} as double) as {{ factor }}_level,
        {%- endfor %}
        solvability.outcome_reward,
        solvability.is_found,
        solvability.selection_count,
        dialogues.turn_count,
        dialogues.utterance_count
    from {{ ref('scenario_solvability') }} as solvability
    inner join {{ ref('dim_dialogues') }} as dialogues
        on solvability.dialogue_key = dialogues.dialogue_key
    left join attributes
        on solvability.dialogue_key = attributes.scenario_key
    left join items
        on solvability.dialogue_key = items.dialogue_key
    left join turns
        on solvability.dialogue_key = turns.dialogue_key
),

factors as (
    {%- for factor, level in factors %}
    select '{{ factor }}' as factor
    {%- if not loop.last %}
    union all
    {%- endif %}
    {%- endfor %}
),

leveled as (
    select
        dialogues.*,
        factors.factor,
        case factors.factor
            {%- for factor, level in factors %}
            when '{{ factor }}' then dialogues.{{ factor }}_level
            {%- endfor %}
        end as level
    from dialogues
    cross join factors
)

select
    corpus_id,
    split,
    factor,
    level,

    cast(count(*) as integer) as dialogue_count,
    cast(count(*) filter (where outcome_reward = 1) as integer) as completed_count,
    count(*) filter (where outcome_reward = 1) / cast(nullif(count(outcome_reward), 0) as double) as completed_share,
    cast(count(*) filter (where is_found) as integer) as found_count,
    sum(selection_count) / cast(nullif(count(selection_count), 0) as double) as selections_per_dialogue,
    sum(turn_count) filter (where outcome_reward = 1)
    / cast(nullif(count(turn_count) filter (where outcome_reward = 1), 0) as double) as turns_when_completed,
    sum(utterance_count) filter (where outcome_reward = 1)
    / cast(nullif(count(utterance_count) filter (where outcome_reward = 1), 0) as double) as utterances_when_completed
from leveled
group by corpus_id, split, factor, level
