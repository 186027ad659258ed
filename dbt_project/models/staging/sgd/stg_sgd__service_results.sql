select
    source_file_id,
    record_index,
    turn_index,
    frame_index,

    service,
    {{ explode_indexed('service_results', 'entity', 'result_index') }}
from {{ ref('stg_sgd__nested_frames') }}
