{#- Only defects count, not the properties that are by design. -#}
{%- set users_of_definitions = [
    ('dim_services', 'service_definition_key', ref('fct_frames'), {'service': 'service'}),
    ('dim_services', 'service_definition_key', ref('fct_actions'), {'service': 'service'}),
    ('dim_services', 'service_definition_key', ref('fct_slots'), {'service': 'service'}),
    ('dim_intents', 'intent_key', ref('fct_frames'), {'service': 'service', 'intent': 'active_intent'}),
    ('dim_intents', 'intent_key', 'intents_of_turns', {'service': 'service', 'intent': 'intent'}),
    ('dim_guidelines', 'guideline_key', 'intents_of_turns', {'intent': 'intent'}),
    ('dim_slots', 'slot_definition_key', ref('fct_actions'), {'service': 'service', 'slot': 'slot_name'}),
    ('dim_slots', 'slot_definition_key', ref('fct_slots'), {'service': 'service', 'slot': 'slot_name'}),
    ('dim_slots', 'slot_definition_key', 'requests', {'service': 'service', 'slot': 'slot_name'}),
] -%}
with

defects as (
    select
        rule_id,
        row_key,
        dialogue_key,
        turn_index,
        service,
        row_number() over (
            order by rule_id, source_file_id, record_index, row_key, other_key, occurrence
        ) as defect
    from {{ ref('violations') }}
    where kind = 'defect'
),

intents_of_turns as (
    select
        turn_key,
        corpus_id,
        split,
        cast(null as string) as service,
        intent
    from {{ ref('fct_turns') }}
    where intent is not null
),

requests as (
    select
        turn_key,
        corpus_id,
        split,
        service,
        {{ explode_indexed('requested_slots', 'slot_name', 'position') }}
    from {{ ref('fct_frames') }}
),

touched as (
    select
        defects.defect,
        turns.turn_key,
        0 as distance
    from defects
    inner join {{ ref('fct_turns') }} as turns
        on
            defects.dialogue_key = turns.dialogue_key
            and defects.turn_index = turns.turn_index
    {%- for table, key, users, columns in users_of_definitions %}

    union all

    select
        defects.defect,
        users.turn_key,
        1 as distance
    from defects
    inner join {{ ref(table) }} as definitions
        on defects.row_key = definitions.{{ key }}
    inner join {{ users }} as users
        on
            definitions.corpus_id = users.corpus_id
            {%- for column, of_user in columns.items() %}
            and coalesce(definitions.{{ column }}, '') = coalesce(users.{{ of_user }}, '')
            {%- endfor %}
    {%- if table != 'dim_guidelines' %}
    where definitions.split is null or definitions.split = users.split
    {%- endif %}
    {%- endfor %}

    union all

    select
        defects.defect,
        turns.turn_key,
        2 as distance
    from defects
    inner join {{ ref('fct_turns') }} as turns
        on defects.dialogue_key = turns.dialogue_key
    where defects.turn_index is null

    union all

    -- A later frame of a service carries the state of that service. A defect without a service, such as a missing
    -- space in an utterance, is in no state.
    select
        defects.defect,
        frames.turn_key,
        3 as distance
    from defects
    inner join {{ ref('fct_frames') }} as frames
        on
            defects.dialogue_key = frames.dialogue_key
            and defects.service = frames.service
            and defects.turn_index < frames.turn_index
),

-- The same defect touches a turn in more than one way, for example as a definition that the turn uses twice.
nearest as (
    select
        defect,
        turn_key,
        min(distance) as distance
    from touched
    group by defect, turn_key
),

ranked as (
    select
        nearest.turn_key,
        nearest.distance,
        defects.rule_id,
        row_number() over (partition by nearest.turn_key order by nearest.distance, defects.rule_id) as place
    from nearest
    inner join defects
        on nearest.defect = defects.defect
)

select
    turns.turn_key,
    turns.corpus_id,
    turns.dialogue_key,
    turns.turn_index,
    cast(count(case when ranked.distance < 3 then 1 end) as integer) as defects_here,
    cast(count(*) as integer) as defects_from_then_on,
    max(case when ranked.place = 1 then ranked.rule_id end) as worst_rule
from ranked
inner join {{ ref('fct_turns') }} as turns
    on ranked.turn_key = turns.turn_key
group by turns.turn_key, turns.corpus_id, turns.dialogue_key, turns.turn_index
