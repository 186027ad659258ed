with

flows as (
    select
        source_file_id,
        {{ explode_map('intents.subflows', 'flow', 'subflows', 'flow_position') }}
    from {{ source('raw_abcd', 'abcd__ontology') }}
),

subflows as (
    select
        source_file_id,
        flow,
        {{ explode_indexed('subflows', 'subflow', 'position', keep_empty=true) }}
    from flows
)

select
    *,
    row_number() over (partition by source_file_id, flow, subflow order by position) as subflow_occurrence
from subflows
