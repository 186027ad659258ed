select
    'abcd' as corpus_id,
    subflow as intent,
    record_index,
    position,
    act
from {{ ref('stg_abcd__kb') }}
where act is not null
