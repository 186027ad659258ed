select
    source_file_id,
    record_index,
    source_part,

    service_name as service,
    description
from {{ source('raw_sgd', 'sgd__services') }}
