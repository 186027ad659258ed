{#- The corpus has one task, finding the shared friend, and no service. -#}
{{ config(meta={'lacks': ['service']}) }}

select
    dialogue_key,
    corpus_id,
    split,

    0 as position,
    'mutual_friends' as domain
from {{ ref('int_mutualfriends__dialogues') }}
