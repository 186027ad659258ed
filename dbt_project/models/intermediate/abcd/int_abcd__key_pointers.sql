{#- The ontology is one record, so its pointer is empty; the guidelines of a flow are one record of guidelines.json. -#}
with

intents as (
    select
        'abcd/ontology/intent/' || {{ key_segment('flow') }} || '/'
            || {{ numbered_segment('subflow', 'subflow_occurrence') }} as traced_key,
        source_file_id,
        0 as record_index,
        '' as record_pointer,
        '/intents/subflows/' || {{ pointer_token('flow') }} || '/' || cast(position as string) as json_pointer
    from {{ ref('stg_abcd__subflows') }}
    where subflow is not null
),

slots as (
    select
        'abcd/ontology/slot/' || {{ key_segment('slot_group') }} || '/'
            || {{ numbered_segment('slot', 'slot_occurrence') }} as traced_key,
        source_file_id,
        0 as record_index,
        '' as record_pointer,
        case
            when possible_values is not null then '/values/enumerable/' || {{ pointer_token('slot') }}
            else '/values/non_enumerable/' || {{ pointer_token('slot_group') }} || '/' || cast(position as string)
        end as json_pointer
    from {{ ref('stg_abcd__slots') }}
    where slot is not null
),

guidelines as (
    select
        guideline_key as traced_key,
        'abcd/guidelines.json' as source_file_id,
        flow_position as record_index,
        '/' || {{ pointer_token('flow_title') }} as record_pointer,
        '/' || {{ pointer_token('flow_title') }} || '/subflows'
            || coalesce('/' || {{ pointer_token('subflow_title') }}, '') as json_pointer
    from {{ ref('int_abcd__guidelines') }}
)

{% for keys in ['intents', 'slots', 'guidelines'] -%}
select
    traced_key,
    'abcd' as corpus_id,

    source_file_id,
    record_index,
    record_pointer,
    json_pointer
from {{ keys }}
{% if not loop.last %}
union all

{% endif %}
{%- endfor %}
