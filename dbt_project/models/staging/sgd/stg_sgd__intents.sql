select
    source_part,
    service,
    position,

    intent.name as intent,
    intent.description as description,
    intent.is_transactional as is_transactional
from {{ ref('stg_sgd__nested_intents') }}
