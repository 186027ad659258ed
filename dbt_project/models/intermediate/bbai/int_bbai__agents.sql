{#- descriptions.json calls the agent `sport` by the name `sports`; an agent without a description keeps its row. -#}
with

described as (
    select
        case source_name when 'sports' then 'sport' else source_name end as agent_id,
        source_name,
        record_index,
        description
    from {{ ref('stg_bbai__descriptions') }}
),

seen as (
    select distinct option_name as agent_id
    from {{ ref('stg_bbai__options') }}
    where option_name <> 'none'
)

select
    coalesce(described.agent_id, seen.agent_id) as agent_id,
    'bbai' as corpus_id,
    described.source_name,
    described.record_index as position,
    described.description
from described
full outer join seen
    on described.agent_id = seen.agent_id
