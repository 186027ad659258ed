select
    source_file_id,
    record_index,

    record_key as source_name,
    id as service,
    vertical
from {{ source('raw_taskmaster1', 'taskmaster1__ontology') }}
