{#- The corpus has no services; its only domain is the hotline. -#}
{{ config(meta={'lacks': ['service']}) }}

select
    dialogue_key,
    corpus_id,
    split,

    0 as position,
    'hotline' as domain
from {{ ref('int_hotline__dialogues') }}
