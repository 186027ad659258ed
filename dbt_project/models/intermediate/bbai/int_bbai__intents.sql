{#- The release lists no intents: these are the ones its questions name. -#}
select distinct
    'bbai/intent/' || {{ key_segment('intent') }} as intent_key,
    'bbai' as corpus_id,
    cast(null as string) as split,

    cast(null as string) as service,
    intent,
    cast(null as integer) as position,
    cast(null as string) as description,
    cast(null as boolean) as is_transactional,
    cast(null as string) as parent_intent,
    cast(null as integer) as parent_position
from {{ ref('stg_bbai__questions') }}
