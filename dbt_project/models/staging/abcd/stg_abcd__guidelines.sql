with

guidelines as (
    select
        record_key,
        record_index,
        description,
        {{ explode_map('subflows', 'subflow_title', 'guideline', 'position', keep_empty=true) }}
    from {{ source('raw_abcd', 'abcd__guidelines') }}
)

select
    record_key as flow_title,
    record_index as flow_position,
    description as flow_description,
    subflow_title,
    position,
    guideline.instructions as instructions,
    guideline.actions as steps
from guidelines
