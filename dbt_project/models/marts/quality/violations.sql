{#- What landing set aside, and ids and labels that the documents do not know. -#}
with

repeated_ids as (
    select
        'repeated_dialogue_id' as rule_id,
        corpus_id,
        source_file_id,
        record_index,
        dialogue_key,
        cast(null as integer) as turn_index,
        'occurrence ' || cast(id_occurrence as string) || ' of ' || dialogue_id || ' in ' || source_part as detail,
        cast(null as string) as upstream_reference
    from {{ ref('dim_dialogues') }}
    where id_occurrence > 1
),

unknown_speakers as (
    select
        'unknown_speaker' as rule_id,
        turns.corpus_id,
        dialogues.source_file_id,
        dialogues.record_index,
        turns.dialogue_key,
        turns.turn_index,
        'speaker ' || coalesce(turns.source_speaker, 'NULL') as detail,
        cast(null as string) as upstream_reference
    from {{ ref('fct_turns') }} as turns
    inner join {{ ref('dim_dialogues') }} as dialogues
        on turns.dialogue_key = dialogues.dialogue_key
    where turns.role = 'unknown'
),

unknown_events as (
    select
        'unknown_event' as rule_id,
        turns.corpus_id,
        dialogues.source_file_id,
        dialogues.record_index,
        turns.dialogue_key,
        turns.turn_index,
        'event ' || coalesce(turns.source_event_type, 'NULL') as detail,
        cast(null as string) as upstream_reference
    from {{ ref('fct_turns') }} as turns
    inner join {{ ref('dim_dialogues') }} as dialogues
        on turns.dialogue_key = dialogues.dialogue_key
    where turns.event_type = 'other'
),

vocabularies as (
    select
        corpus_id,
        act,
        position is not null as is_documented,
        max(case when position is not null then 1 else 0 end) over (partition by corpus_id) as has_vocabulary
    from {{ ref('dim_acts') }}
),

unknown_acts as (
    select
        'unknown_act' as rule_id,
        actions.corpus_id,
        dialogues.source_file_id,
        dialogues.record_index,
        actions.dialogue_key,
        actions.turn_index,
        'act ' || actions.act as detail,
        cast(null as string) as upstream_reference
    from {{ ref('fct_actions') }} as actions
    inner join vocabularies
        on
            actions.corpus_id = vocabularies.corpus_id
            and actions.act = vocabularies.act
    inner join {{ ref('dim_dialogues') }} as dialogues
        on actions.dialogue_key = dialogues.dialogue_key
    where not vocabularies.is_documented and vocabularies.has_vocabulary = 1
),

extra_keys as (
    select
        'unknown_key' as rule_id,
        corpus_id,
        source_file_id,
        cast(null as integer) as record_index,
        cast(null as string) as dialogue_key,
        cast(null as integer) as turn_index,
        'key at ' || json_pointer as detail,
        cast(null as string) as upstream_reference
    from {{ ref('source_extras') }}
),

quarantined_records as (
    select
        'refused_record' as rule_id,
        corpus_id,
        source_file_id,
        record_index,
        cast(null as string) as dialogue_key,
        cast(null as integer) as turn_index,
        error as detail,
        cast(null as string) as upstream_reference
    from {{ ref('source_quarantine') }}
),

losses as (
    select
        corpus_id,
        source_file_id,
        {{ explode_indexed('losses', 'loss', 'position') }}
    from {{ ref('dim_source_files') }}
),

lossy_forms as (
    select
        'lossy_form' as rule_id,
        corpus_id,
        source_file_id,
        cast(null as integer) as record_index,
        cast(null as string) as dialogue_key,
        cast(null as integer) as turn_index,
        loss as detail,
        cast(null as string) as upstream_reference
    from losses
)

{%- set rules = [
    'repeated_ids', 'unknown_speakers', 'unknown_events', 'unknown_acts', 'extra_keys', 'quarantined_records',
    'lossy_forms'
] %}

{% for rule in rules -%}
select
    rule_id,
    corpus_id,
    source_file_id,
    record_index,
    dialogue_key,
    turn_index,
    detail,
    upstream_reference
from {{ rule }}
{% if not loop.last %}
union all

{% endif %}
{%- endfor %}
