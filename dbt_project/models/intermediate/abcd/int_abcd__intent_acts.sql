select
    'abcd' as corpus_id,
    subflow as intent,
    position,
    act
from {{ ref('stg_abcd__kb') }}
where act is not null
