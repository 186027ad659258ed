select
    source_file_id,
    corpus_id,
    json_pointer,
    form
from {{ ref('int_exceptions_unioned') }}
