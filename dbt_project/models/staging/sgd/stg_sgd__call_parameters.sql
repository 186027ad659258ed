{{ config(materialized='table') }}

select
    source_file_id,
    record_index,
    turn_index,
    frame_index,

    speaker,
    frame.service as service,
    {{ explode_map('frame.service_call.parameters', 'slot', 'value', 'parameter_index') }}
from {{ ref('stg_sgd__nested_frames') }}
