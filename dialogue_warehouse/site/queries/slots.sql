select
    corpus_id,
    slot_name as label,
    'annotations' as series,
    sum(annotation_count) as value
from analytics.slot_profile
where annotation_count > 0 and slot_name is not null
group by corpus_id, slot_name
qualify row_number() over (partition by corpus_id order by value desc, slot_name) <= 12
order by corpus_id, value desc, slot_name
