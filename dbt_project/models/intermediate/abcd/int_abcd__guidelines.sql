{#- Titles differ from the names in the ontology: flows are matched by name, subflows by position inside the flow. A
    flow without guidelines keeps one row. -#}
select
    'abcd/guideline/' || {{ key_segment('guidelines.flow_title') }} || '/'
        || coalesce({{ key_segment('guidelines.subflow_title') }}, '-') as guideline_key,
    'abcd' as corpus_id,

    case when guidelines.subflow_title is not null then guidelines.position end as position,
    guidelines.flow_title,
    guidelines.flow_position,
    guidelines.flow_description,
    guidelines.subflow_title,
    subflows.subflow as intent,
    guidelines.instructions
from {{ ref('stg_abcd__guidelines') }} as guidelines
left join {{ ref('stg_abcd__subflows') }} as subflows
    on
        replace(replace({{ lower_case('guidelines.flow_title') }}, ' ', '_'), '-', '_') = subflows.flow
        and guidelines.position = subflows.position
        and guidelines.subflow_title is not null
