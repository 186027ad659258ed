select
    'abcd' as corpus_id,
    act,
    position,
    slot
from {{ ref('stg_abcd__action_slots') }}
