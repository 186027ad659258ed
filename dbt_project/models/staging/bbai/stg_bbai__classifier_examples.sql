select
    source_file_id,
    record_index,
    record_pointer,
    source_part,

    utterance,
    labels
from {{ source('raw_bbai', 'bbai__classifier_examples') }}
