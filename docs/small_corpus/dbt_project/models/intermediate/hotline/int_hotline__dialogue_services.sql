{#- The corpus has no services, and one domain. -#}
{{ config(meta={'lacks': ['service']}) }}

select
    dialogue_key,
    corpus_id,
    split,

    0 as position,
    'help' as domain
from {{ ref('int_hotline__dialogues') }}
