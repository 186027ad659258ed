select
    source_file_id,
    record_index,
    turn_index,
    speaker,
    utterance
from {{ ref('stg_sgd__nested_turns') }}
