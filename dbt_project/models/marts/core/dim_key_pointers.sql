{#- The macros that read this table and dim_pointer_forms are published with it. -#}
{{ config(post_hook='{{ create_pointer_macros() }}') }}

{{ union_corpora('key_pointers') }}
