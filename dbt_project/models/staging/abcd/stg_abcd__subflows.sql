with

flows as (
    select {{ explode_map('intents.subflows', 'flow', 'subflows', 'flow_position') }}
    from {{ source('raw_abcd', 'abcd__ontology') }}
)

select
    flow,
    {{ explode_indexed('subflows', 'subflow', 'position') }}
from flows
