select
    source_file_id,
    record_index,
    turn_index,
    frame_index,

    speaker,
    service,
    {{ explode_map('service_call.parameters', 'slot', 'value', 'parameter_index') }}
from {{ ref('stg_sgd__nested_frames') }}
