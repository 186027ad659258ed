{{ config(tags=['audit']) }}

select
    source_file_id,
    records,
    is_equal,
    first_difference
from {{ source('audit', 'restorations') }}
