{#- The tables of core with rows for published data. Each corpus declares which entity is in which table. -#}
{%- set tables = [
    'dim_act_slots', 'dim_acts', 'dim_agents', 'dim_candidate_utterances', 'dim_dialogue_services', 'dim_dialogues',
    'dim_flows', 'dim_guideline_steps', 'dim_guidelines', 'dim_intent_acts', 'dim_intent_slots', 'dim_intents',
    'dim_participants', 'dim_scenario_attributes', 'dim_scenario_values', 'dim_scenarios', 'dim_services', 'dim_slots',
    'dim_split_members', 'dim_vocabulary', 'fct_actions', 'fct_candidates', 'fct_classifier_examples', 'fct_frames',
    'fct_knowledge_items', 'fct_responses', 'fct_service_calls', 'fct_service_results', 'fct_slots', 'fct_turns',
    'fct_votes',
] -%}
{%- set relations = {} -%}
{%- for table in tables -%}
    {%- do relations.update({table: ref(table)}) -%}
{%- endfor -%}
{%- set places = places_in_core(tables) -%}
with

accounting as (
    {{ union_corpora('accounting', computed=['quarantined', 'core']) }}
    {{ zero_accounting() }}
),
{% for table, entities in places.items() %}
{{ table }}_counts as (
    select
        corpus_id,
        {%- for entity, condition in entities %}
        {{ counted_rows(condition) }} as count_{{ loop.index0 }}{{ ',' if not loop.last }}
        {%- endfor %}
    from {{ relations[table] }}
    group by corpus_id
),
{% endfor %}
core_counts as (
    {%- for table, entities in places.items() %}
    {{ 'union all' if not loop.first }}
    select
        places.corpus_id,
        places.entity,
        case places.place
            {%- for _ in entities %}
            when {{ loop.index0 }} then counts.count_{{ loop.index0 }}
            {%- endfor %}
        end as core_rows
    from {{ table }}_counts as counts
    inner join (
        {%- for (entity, condition), corpora in entities.items() %}
        {%- set place, is_last = loop.index0, loop.last %}
        {%- for corpus in corpora %}
        select
            '{{ corpus }}' as corpus_id,
            '{{ entity }}' as entity,
            {{ place }} as place
        {{ 'union all' if not (is_last and loop.last) }}
        {%- endfor %}
        {%- endfor %}
    ) as places
        on counts.corpus_id = places.corpus_id
    {%- endfor %}
),

quarantined as (
    select
        files.corpus_id,
        files.entity,
        count(*) as quarantined_records
    from {{ ref('source_quarantine') }} as quarantine
    inner join {{ ref('dim_source_files') }} as files
        on quarantine.source_file_id = files.source_file_id
    group by files.corpus_id, files.entity
)

select
    accounting.corpus_id,
    accounting.entity,
    accounting.record_entity,

    cast(accounting.published as bigint) as published,
    cast(coalesce(quarantined.quarantined_records, 0) as bigint) as quarantined,
    cast(accounting.staged as bigint) as staged,
    cast(accounting.conformed as bigint) as conformed,
    cast(coalesce(core_counts.core_rows, 0) as bigint) as core
from accounting
left join core_counts
    on
        accounting.corpus_id = core_counts.corpus_id
        and accounting.entity = core_counts.entity
left join quarantined
    on
        accounting.corpus_id = quarantined.corpus_id
        and accounting.record_entity = quarantined.entity
