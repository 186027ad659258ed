select
    frame_key,
    turn_key,
    dialogue_key,
    corpus_id,
    split,
    turn_index,
    frame_index,
    service,
    active_intent,
    requested_slots
from {{ ref('int_frames_unioned') }}
