select
    corpus_id,
    title,
    homepage,
    license,
    citation,
    release,
    text_kind,
    annotator_count,
    voter_count,
    carried_from,
    carried_because
from {{ ref('stg_landing__corpora') }}
