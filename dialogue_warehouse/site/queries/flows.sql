select
    corpus_id,
    coalesce(flow, task) as label,
    series,
    sum(value) as value
from (
    unpivot (
        select
            corpus_id,
            flow,
            task,
            exact_count as exact,
            interrupted_count as interrupted,
            shortened_count as shortened,
            broken_count as broken
        from analytics.flow_profile
    ) on exact, interrupted, shortened, broken into name series value value
)
group by corpus_id, label, series
order by corpus_id, label, list_position(['exact', 'interrupted', 'shortened', 'broken'], series)
