{{ config(materialized='table') }}

select
    source_file_id,
    record_index,
    turn_index,
    frame_index,

    speaker,
    frame.service as service,
    frame.state.active_intent as active_intent,
    frame.state.requested_slots as requested_slots
from {{ ref('stg_sgd__nested_frames') }}
