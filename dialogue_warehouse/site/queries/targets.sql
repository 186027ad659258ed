select
    corpus_id,
    coalesce(split, 'no split') as label,
    length,
    occurrence_count as value
from analytics.length_distribution
where measure = 'place_of_target'
order by corpus_id, list_position(['train', 'validation', 'test'], split), length
