select
    agent_id,
    corpus_id,
    source_name,
    position,
    description
from {{ ref('int_agents_unioned') }}
