{#- What landing set aside, and labels that the documents do not know. Rules about the words of a corpus come beside. -#}
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

changed_files as (
    select
        'checksum_mismatch' as rule_id,
        corpus_id,
        source_file_id,
        cast(null as integer) as record_index,
        cast(null as string) as dialogue_key,
        cast(null as integer) as turn_index,
        'sha256 ' || sha256 || ' is not the published one: a part of the release, or changed' as detail,
        cast(null as string) as upstream_reference
    from {{ ref('dim_source_files') }}
    where verification = 'mismatch'
)

{% for rule in ['repeated_ids', 'unknown_speakers', 'unknown_events', 'extra_keys', 'quarantined_records', 'changed_files'] -%}
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
