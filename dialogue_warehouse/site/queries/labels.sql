select
    corpus_id,
    concat_ws(' ', label_kind, role) as part,
    label,
    'times' as series,
    sum(label_count) as value
from analytics.label_distribution
group by corpus_id, label_kind, role, label
qualify row_number() over (partition by corpus_id, label_kind, role order by value desc, label) <= 12
order by corpus_id, part, value desc, label
