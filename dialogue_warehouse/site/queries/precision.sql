select
    corpus_id,
    agent_id as label,
    coalesce(split, 'no split') as series,
    precision_at_1 as value
from analytics.vote_agreement
where agent_id is not null
order by corpus_id, max(precision_at_1) over (partition by corpus_id, agent_id) desc nulls last, agent_id, split
