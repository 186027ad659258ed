{#- The corpus has one task, finding the shared friend, and no service. -#}
select
    dialogue_key,
    corpus_id,
    split,

    0 as position,
    cast(null as string) as service,
    'mutual_friends' as domain
from {{ ref('int_mutualfriends__dialogues') }}
