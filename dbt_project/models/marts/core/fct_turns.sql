{{ config(hardly_repeated=['utterance']) }}

{{ union_corpora('turns') }}
