{#- Every row that breaks a rule. The rules of a corpus stand in rules/<corpus>/<corpus>__rules, those that mean the
    same in every corpus in rules/shared; what is known of each, its thread too, is the rooms' and lands as a table. -#}
with

found as (
    {%- for room in ['shared'] + var('corpora') | list %}
    select
        rule_id,
        corpus_id,
        source_file_id,
        record_index,
        dialogue_key,
        turn_index,
        row_key,
        detail
    from {{ ref(room ~ '__rules') }}
    {%- if not loop.last %}

    union all
    {% endif %}
    {%- endfor %}
)

select
    found.rule_id,
    coalesce(own_rules.kind, shared_rules.kind) as kind,
    found.corpus_id,
    coalesce(found.source_file_id, dialogues.source_file_id, definitions.source_file_id) as source_file_id,
    coalesce(found.record_index, dialogues.record_index, definitions.record_index) as record_index,
    found.dialogue_key,
    found.turn_index,
    found.row_key,
    translate(
        coalesce(found.detail, 'a value that this names is absent'), chr(9) || chr(10) || chr(13), '   '
    ) as detail,
    coalesce(own_rules.upstream_reference, shared_rules.upstream_reference) as upstream_reference
from found
left join {{ ref('dim_dialogues') }} as dialogues
    on found.dialogue_key = dialogues.dialogue_key
left join {{ ref('dim_key_pointers') }} as definitions
    on found.row_key = definitions.traced_key
left join {{ ref('stg_landing__rules') }} as own_rules
    on
        found.rule_id = own_rules.rule_id
        and found.corpus_id = own_rules.corpus_id
left join {{ ref('stg_landing__rules') }} as shared_rules
    on
        found.rule_id = shared_rules.rule_id
        and shared_rules.corpus_id is null
