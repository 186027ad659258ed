select
    'abcd' as corpus_id,
    act,
    act_occurrence,
    position,
    slot
from {{ ref('stg_abcd__action_slots') }}
