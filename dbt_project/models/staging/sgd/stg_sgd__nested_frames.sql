{{ config(materialized='table') }}

with

frames as (
    select
        source_file_id,
        record_index,
        turn_index,
        speaker,
        utterance,
        {{ explode_indexed('frames', 'frame', 'frame_index') }}
    from {{ ref('stg_sgd__nested_turns') }}
)

select
    source_file_id,
    record_index,
    turn_index,
    frame_index,

    speaker,
    utterance,
    frame.service as service,
    frame.actions as actions,
    frame.slots as slots,
    frame.state as state,
    frame.service_call as service_call,
    frame.service_results as service_results
from frames
