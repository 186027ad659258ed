select
    source_file_id,
    record_index,
    source_part,

    utterance,
    labels
from {{ source('raw_bbai', 'bbai__classifier_examples') }}
