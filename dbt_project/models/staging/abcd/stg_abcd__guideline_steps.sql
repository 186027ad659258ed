with

steps as (
    select
        flow_title,
        subflow_title,
        {{ explode_indexed('steps', 'step', 'step_index') }}
    from {{ ref('stg_abcd__guidelines') }}
)

select
    flow_title,
    subflow_title,
    step_index,

    step.type as step_type,
    step.button as button,
    step.text as text,
    step.subtext as subtext
from steps
