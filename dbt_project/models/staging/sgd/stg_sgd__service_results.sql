select
    source_file_id,
    record_index,
    turn_index,
    frame_index,

    service,
    service_call.method as method,
    {{ explode_indexed('service_results', 'entity', 'result_index') }}
from {{ ref('stg_sgd__nested_frames') }}
