select
    'abcd' as corpus_id,
    kind,
    position,
    term
from {{ ref('stg_abcd__vocabulary') }}
