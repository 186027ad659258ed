{{ config(materialized='table') }}

select
    source_file_id,
    record_index,
    turn_index,
    frame_index,

    speaker,
    frame.service as service,
    frame.state.active_intent as active_intent,
    frame.state.requested_slots as requested_slots,
    frame.service_call.method as method,
    cast(cardinality(frame.service_results) as integer) as result_count
from {{ ref('stg_sgd__nested_frames') }}
