select
    source_file_id,
    record_index,
    source_part,
    service,
    service_occurrence,
    position,

    intent.name as intent,
    intent_occurrence,
    intent.description as description,
    intent.is_transactional as is_transactional
from {{ ref('stg_sgd__nested_intents') }}
