{#- The corpus has one task, dividing items, and no service. -#}
{{ config(meta={'lacks': ['service']}) }}

select
    dialogue_key,
    corpus_id,
    split,

    0 as position,
    'bargain' as domain
from {{ ref('int_bargain__dialogues') }}
