select
    source_file_id,
    record_index,
    source_part,

    value as dialogue_id
from {{ source('raw_taskmaster1', 'taskmaster1__split_members') }}
