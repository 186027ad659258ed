select
    corpus_id,
    service as label,
    channel as series,
    sum(complete_count) / nullif(sum(dialogue_count), 0) as value
from analytics.argument_completeness
group by corpus_id, service, channel
order by corpus_id, service, channel
