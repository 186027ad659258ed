select
    dialogue_key,
    corpus_id,
    split,
    position,
    service,
    domain
from {{ ref('int_dialogue_services_unioned') }}
