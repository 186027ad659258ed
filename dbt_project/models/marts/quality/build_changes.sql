{{ config(tags=['audit']) }}

select
    build_id,
    base_build_id,
    kind,
    table_name,
    corpus_id,
    change,
    row_count,
    first_keys
from {{ source('audit', 'build_changes') }}
