select
    'abcd' as corpus_id,
    subflow as intent,
    position,
    act
from {{ ref('stg_abcd__kb') }}
