{{ config(meta={'lacks': ['split', 'slot_group', 'description', 'is_categorical']}) }}

select
    'taskmaster1/ontology/service/'
        || {{ numbered_segment('service', 'service_occurrence') }} || '/slot/' || requirement || '/'
        || {{ numbered_segment('label', 'label_occurrence') }} as slot_definition_key,
    'taskmaster1' as corpus_id,

    service,
    label as slot,
    position,
    null as possible_values,
    requirement
from {{ ref('stg_taskmaster1__ontology_labels') }}
