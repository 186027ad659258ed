select
    record_index,
    record_key as source_name,
    value as description
from {{ source('raw_bbai', 'bbai__descriptions') }}
