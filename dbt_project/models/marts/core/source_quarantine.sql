select
    source_file_id,
    corpus_id,
    record_index,
    record_pointer,
    error,
    value
from {{ source('raw_landing', 'source_quarantine') }}
