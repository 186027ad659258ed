select
    source_file_id,
    record_index,
    source_part,

    service_name as service,
    row_number() over (partition by source_part, service_name order by source_file_id, record_index)
        as service_occurrence,
    description,
    slots,
    intents
from {{ source('raw_sgd', 'sgd__services') }}
