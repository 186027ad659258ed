select
    source_file_id,
    record_index,
    {{ explode_indexed('human', 'label', 'position') }}
from {{ source('raw_bbai', 'bbai__questions') }}
