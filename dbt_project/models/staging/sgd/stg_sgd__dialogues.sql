select
    source_file_id,
    record_index,
    record_pointer,
    source_part,
    dialogue_id
from {{ source('raw_sgd', 'sgd__dialogues') }}
