select
    corpus_id,
    split as label,
    case when is_seen then 'seen' else 'unseen' end as series,
    sum(frame_count) as value
from analytics.service_exposure
where is_seen is not null and split is not null
group by corpus_id, split, is_seen
order by corpus_id, list_position(['train', 'validation', 'test'], split), is_seen desc
