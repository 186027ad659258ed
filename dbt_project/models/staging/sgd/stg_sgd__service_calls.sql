{{ config(materialized='table') }}

select
    source_file_id,
    record_index,
    turn_index,
    frame_index,

    frame.service as service,
    frame.service_call.method as method,
    cast(cardinality(frame.service_results) as integer) as result_count
from {{ ref('stg_sgd__nested_frames') }}
where frame.service_call is not null
