{{ config(meta={'lacks': ['parent_intent', 'parent_position']}) }}

select
    'sgd/' || {{ key_segment('source_part') }} || '/service/'
        || {{ numbered_segment('service', 'service_occurrence') }} || '/intent/'
        || {{ numbered_segment('intent', 'intent_occurrence') }} as intent_key,
    'sgd' as corpus_id,
    {{ shared_split('source_part', {'train': 'train', 'dev': 'validation', 'test': 'test'}) }} as split,

    service,
    intent,
    position,
    description,
    is_transactional
from {{ ref('stg_sgd__intents') }}
