{#- The corpus has no services; its only domain is the hotline. -#}
select
    dialogue_key,
    corpus_id,
    split,

    0 as position,
    cast(null as string) as service,
    'hotline' as domain
from {{ ref('int_hotline__dialogues') }}
