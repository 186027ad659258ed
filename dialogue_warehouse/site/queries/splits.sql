select
    corpus_id as label,
    coalesce(split, 'no split') as series,
    dialogue_count as value
from analytics.corpus_profile
where not is_whole_corpus
order by corpus_id, split nulls last
