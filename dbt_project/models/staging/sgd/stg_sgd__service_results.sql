{{ config(materialized='table') }}

select
    source_file_id,
    record_index,
    turn_index,
    frame_index,

    frame.service as service,
    {{ explode_indexed('frame.service_results', 'entity', 'result_index') }}
from {{ ref('stg_sgd__nested_frames') }}
