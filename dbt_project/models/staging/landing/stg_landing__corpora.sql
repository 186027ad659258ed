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
from {{ source('raw_landing', 'corpora') }}
