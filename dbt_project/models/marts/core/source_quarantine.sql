select
    source_file_id,
    corpus_id,
    record_index,
    record_pointer,
    error,
    value
from {{ ref('stg_landing__source_quarantine') }}
