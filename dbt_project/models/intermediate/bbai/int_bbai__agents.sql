{#- descriptions.json uses the name `sports` for the agent `sport`; an agent without a description keeps its row. If
    both names are described, `sports` is another agent. -#}
with

described as (
    select
        case
            when descriptions.source_name = 'sports' and namesakes.source_name is null then 'sport'
            else descriptions.source_name
        end as agent_id,
        descriptions.source_name,
        descriptions.record_index,
        descriptions.description
    from {{ ref('stg_bbai__descriptions') }} as descriptions
    left join {{ ref('stg_bbai__descriptions') }} as namesakes
        on
            descriptions.source_name = 'sports'
            and namesakes.source_name = 'sport'
),

seen as (
    select
        option_name as agent_id,
        min(option_index) as ballot_position
    from {{ ref('stg_bbai__options') }}
    where option_name <> 'none'
    group by option_name
)

select
    coalesce(described.agent_id, seen.agent_id) as agent_id,
    'bbai' as corpus_id,
    described.source_name,
    described.record_index as position,
    seen.ballot_position,
    described.description
from described
full outer join seen
    on described.agent_id = seen.agent_id
