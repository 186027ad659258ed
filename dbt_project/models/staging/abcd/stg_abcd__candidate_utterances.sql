select
    record_index as candidate_id,
    value as utterance
from {{ source('raw_abcd', 'abcd__utterances') }}
