{#- The release lists no intents: these are the ones its questions name. -#}
{{ config(meta={'lacks': [
    'split', 'service', 'position', 'description', 'is_transactional', 'parent_intent', 'parent_position',
]}) }}

select distinct
    'bbai/intent/' || {{ key_segment('intent') }} as intent_key,
    'bbai' as corpus_id,

    intent
from {{ ref('stg_bbai__questions') }}
