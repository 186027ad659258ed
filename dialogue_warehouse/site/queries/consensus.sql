select
    corpus_id,
    top_votes as label,
    coalesce(split, 'no split') as series,
    question_share as value
from analytics.vote_consensus
order by corpus_id, top_votes, split
