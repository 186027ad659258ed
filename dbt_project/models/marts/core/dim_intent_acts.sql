select
    corpus_id,
    intent,
    position,
    act
from {{ ref('int_intent_acts_unioned') }}
