{#- The macro that reads this table and fct_turns is published with it. -#}
{{ config(post_hook='{{ create_transcript_macro() }}') }}

{{ union_corpora('slots') }}
