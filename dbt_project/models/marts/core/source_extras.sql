select
    source_file_id,
    corpus_id,
    json_pointer,
    value
from {{ ref('stg_landing__source_extras') }}
