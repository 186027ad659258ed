select
    source_file_id,
    record_index,
    turn_index,
    frame_index,

    service,
    state.active_intent as active_intent,
    state.requested_slots as requested_slots,
    service_call.method as method,
    cast(cardinality(service_results) as integer) as result_count
from {{ ref('stg_sgd__nested_frames') }}
