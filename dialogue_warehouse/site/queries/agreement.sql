select
    corpus_id,
    service as label,
    channel as series,
    2 * sum(spans_by_both) / nullif(2 * sum(spans_by_both) + sum(spans_by_one), 0) as value
from analytics.annotator_agreement
group by corpus_id, service, channel
having sum(spans_by_both) + sum(spans_by_one) > 0
order by corpus_id, service, channel
