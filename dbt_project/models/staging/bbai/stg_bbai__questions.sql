select
    source_file_id,
    record_index,
    record_pointer,
    source_part,

    record_key as utterance,
    intent
from {{ source('raw_bbai', 'bbai__questions') }}
