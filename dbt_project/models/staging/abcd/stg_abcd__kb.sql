select
    source_file_id,
    record_index,
    record_pointer,
    record_key as subflow,
    {{ explode_indexed('value', 'act', 'position', keep_empty=true) }}
from {{ source('raw_abcd', 'abcd__kb') }}
