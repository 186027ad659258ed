select
    corpus_id as label,
    length,
    sum(occurrence_count) as value
from analytics.length_distribution
where measure = 'turns_of_dialogue'
group by corpus_id, length
order by corpus_id, length
