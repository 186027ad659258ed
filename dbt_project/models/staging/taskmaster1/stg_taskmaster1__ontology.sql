select
    source_file_id,
    record_index,

    record_key as source_name,
    id as service,
    row_number() over (partition by id order by source_file_id, record_index) as service_occurrence,
    vertical,
    required,
    optional
from {{ source('raw_taskmaster1', 'taskmaster1__ontology') }}
