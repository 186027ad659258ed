select
    corpus_id,
    title,
    homepage,
    license,
    citation,
    release
from {{ ref('stg_landing__corpora') }}
