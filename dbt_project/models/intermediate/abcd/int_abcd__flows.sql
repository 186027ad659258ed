select
    'abcd' as corpus_id,
    flow,
    position
from {{ ref('stg_abcd__flows') }}
