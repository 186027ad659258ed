select
    intent_key,
    corpus_id,
    split,
    slot,
    requirement,
    position,
    default_value
from {{ ref('int_intent_slots_unioned') }}
