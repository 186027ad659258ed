{{ config(tags=['audit']) }}

select
    build_id,
    base_build_id,
    kind,
    table_name,
    corpus_id,
    change,
    row_count,
    first_keys,
    first_before,
    first_after
from {{ source('audit', 'build_changes') }}
