select
    source_file_id,
    record_index,
    {{ explode_indexed('services', 'service', 'position') }}
from {{ source('raw_sgd', 'sgd__dialogues') }}
