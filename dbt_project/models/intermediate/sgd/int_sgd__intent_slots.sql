select
    'sgd/' || {{ key_segment('source_part') }} || '/service/'
        || {{ numbered_segment('service', 'service_occurrence') }} || '/intent/'
        || {{ numbered_segment('intent', 'intent_occurrence') }} as intent_key,
    'sgd' as corpus_id,
    {{ shared_split('source_part', {'train': 'train', 'dev': 'validation', 'test': 'test'}) }} as split,

    slot,
    requirement,
    position,
    default_value
from {{ ref('stg_sgd__intent_slots') }}
