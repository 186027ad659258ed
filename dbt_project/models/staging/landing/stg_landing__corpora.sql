select
    corpus_id,
    title,
    homepage,
    license,
    citation,
    release,
    text_kind,
    goal_kind,
    annotator_count,
    voter_count,
    carried_from,
    carried_because
from {{ source('raw_landing', 'corpora') }}
