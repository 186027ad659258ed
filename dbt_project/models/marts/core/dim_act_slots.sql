select
    corpus_id,
    act,
    position,
    slot
from {{ ref('int_act_slots_unioned') }}
