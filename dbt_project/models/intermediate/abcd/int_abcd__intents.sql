{#- A flow that the ontology lists again has the position of its first entry. -#}
{{ config(meta={'lacks': ['split', 'service', 'description', 'is_transactional']}) }}

with

flows as (
    select
        flow,
        min(position) as position
    from {{ ref('stg_abcd__flows') }}
    group by flow
)

select
    'abcd/ontology/intent/' || {{ key_segment('subflows.flow') }} || '/'
        || {{ numbered_segment('subflows.subflow', 'subflows.subflow_occurrence') }} as intent_key,
    'abcd' as corpus_id,

    subflows.subflow as intent,
    subflows.position,
    subflows.flow as parent_intent,
    flows.position as parent_position
from {{ ref('stg_abcd__subflows') }} as subflows
left join flows
    on subflows.flow = flows.flow
where subflows.subflow is not null
