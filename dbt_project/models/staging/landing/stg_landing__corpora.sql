select
    corpus_id,
    title,
    homepage,
    license,
    citation,
    release
from {{ source('raw_landing', 'corpora') }}
