select
    source_file_id,
    record_index,
    {{ explode_indexed('turns', 'turn', 'turn_index') }}
from {{ source('raw_sgd', 'sgd__dialogues') }}
