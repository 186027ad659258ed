{{ config(hardly_repeated=['turn_key']) }}

{{ union_corpora('frames') }}
