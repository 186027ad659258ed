select
    source_file_id,
    record_index,
    record_pointer,
    source_part,

    id as dialogue_id,
    agreed as is_agreed
from {{ source('raw_bargain', 'bargain__deals') }}
