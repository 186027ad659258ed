select
    intent_key,
    corpus_id,
    split,
    service,
    intent,
    position,
    description,
    is_transactional,
    parent_intent,
    parent_position
from {{ ref('int_intents_unioned') }}
