select
    dialogue_key,
    corpus_id,
    split,
    source_speaker,
    participant_type
from {{ ref('int_participants_unioned') }}
