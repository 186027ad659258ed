{{ config(meta={'lacks': ['slot_group', 'requirement']}) }}

select
    'sgd/' || {{ key_segment('source_part') }} || '/service/'
        || {{ numbered_segment('service', 'service_occurrence') }} || '/slot/'
        || {{ numbered_segment('slot', 'slot_occurrence') }} as slot_definition_key,
    'sgd' as corpus_id,
    {{ shared_split('source_part', {'train': 'train', 'dev': 'validation', 'test': 'test'}) }} as split,

    service,
    slot,
    position,
    description,
    is_categorical,
    possible_values
from {{ ref('stg_sgd__slots') }}
