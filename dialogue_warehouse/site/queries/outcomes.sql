select
    corpus_id,
    factor as part,
    coalesce(format('{:g}', level), 'none') as label,
    'completed' as series,
    sum(completed_count) / sum(dialogue_count) as value
from analytics.outcome_factors
group by corpus_id, factor, level
order by corpus_id, factor, level nulls first
