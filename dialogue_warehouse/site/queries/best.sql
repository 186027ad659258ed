select
    corpus_id,
    agent_rank as label,
    coalesce(split, 'no split') as series,
    max(covered_share) as value
from analytics.vote_agreement
where agent_rank is not null
group by corpus_id, agent_rank, split
order by corpus_id, agent_rank, split
