select
    corpus_id || ' ' || role as label,
    length,
    sum(occurrence_count) as value
from analytics.length_distribution
where measure = 'tokens_of_utterance'
group by corpus_id, role, length
order by corpus_id, role, length
