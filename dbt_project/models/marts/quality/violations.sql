{#- Every row that breaks a rule. The rules of a corpus, if it has any, are in rules/<corpus>/<corpus>__rules, the rules
    with the same meaning in every corpus in rules/shared. Each corpus declares the properties of its rules, including their
    upstream thread, and landing writes them to a table. -#}
with

found as (
    {%- for owner in ['shared'] + corpora_with('rules') %}
    select
        rule_id,
        corpus_id,
        source_file_id,
        record_index,
        row_key,
        other_key,
        dialogue_key,
        turn_index,
        service,
        slot_name,
        detail
    from {{ ref(owner ~ '__rules') }}
    {%- if not loop.last %}

    union all
    {% endif %}
    {%- endfor %}
),

placed as (
    select
        found.rule_id,
        found.corpus_id,
        coalesce(found.source_file_id, dialogues.source_file_id, definitions.source_file_id) as source_file_id,
        coalesce(found.record_index, dialogues.record_index, definitions.record_index) as record_index,
        found.row_key,
        found.other_key,
        found.dialogue_key,
        found.turn_index,
        found.service,
        found.slot_name,
        translate(
            coalesce(found.detail, 'no details, because a value is missing'), chr(9) || chr(10) || chr(13), '   '
        ) as detail
    from found
    left join {{ ref('dim_dialogues') }} as dialogues
        on found.dialogue_key = dialogues.dialogue_key
    left join {{ ref('dim_key_pointers') }} as definitions
        on found.row_key = definitions.traced_key
)

select
    placed.rule_id,
    coalesce(own_rules.kind, shared_rules.kind) as kind,
    placed.corpus_id,
    placed.source_file_id,
    placed.record_index,
    placed.row_key,
    placed.other_key,
    -- A publication may break a rule at the same rows more than once. Such cases have a number, because a text is not a
    -- key.
    cast(
        row_number() over (
            partition by
                placed.rule_id, placed.source_file_id, placed.record_index, placed.row_key, placed.other_key
            order by placed.detail, placed.turn_index, placed.service, placed.slot_name
        ) - 1 as integer
    ) as occurrence,
    placed.dialogue_key,
    placed.turn_index,
    placed.service,
    placed.slot_name,
    placed.detail,
    coalesce(own_rules.upstream_reference, shared_rules.upstream_reference) as upstream_reference
from placed
left join {{ ref('stg_landing__rules') }} as own_rules
    on
        placed.rule_id = own_rules.rule_id
        and placed.corpus_id = own_rules.corpus_id
left join {{ ref('stg_landing__rules') }} as shared_rules
    on
        placed.rule_id = shared_rules.rule_id
        and shared_rules.corpus_id is null
