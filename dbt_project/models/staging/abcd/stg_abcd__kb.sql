select
    record_key as subflow,
    record_index,
    {{ explode_indexed('value', 'act', 'position') }}
from {{ source('raw_abcd', 'abcd__kb') }}
