select
    source_file_id,
    corpus_id,
    json_pointer,
    value
from {{ source('raw_landing', 'source_extras') }}
