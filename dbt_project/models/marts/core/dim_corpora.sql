select
    corpus_id,
    title,
    homepage,
    license,
    citation,
    release,
    text_kind,
    annotator_count,
    voter_count
from {{ ref('stg_landing__corpora') }}
