{#- The macros that read this table and dim_pointer_forms are published with it. -#}
{{ config(post_hook='{{ create_pointer_macros() }}') }}

select
    corpus_id,
    traced_key,
    source_file_id,
    record_index,
    record_pointer,
    json_pointer
from {{ ref('int_key_pointers_unioned') }}
