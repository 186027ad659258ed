select
    source_file_id,
    record_index,
    record_pointer,
    source_part,

    id as dialogue_id,
    topic as task
from {{ source('raw_hotline', 'hotline__calls') }}
