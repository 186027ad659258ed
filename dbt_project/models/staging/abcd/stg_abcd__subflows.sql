with

flows as (
    select
        source_file_id,
        {{ explode_map('intents.subflows', 'flow', 'subflows', 'flow_position') }}
    from {{ source('raw_abcd', 'abcd__ontology') }}
)

select
    source_file_id,
    flow,
    {{ explode_indexed('subflows', 'subflow', 'position', keep_empty=true) }}
from flows
