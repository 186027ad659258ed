select
    'taskmaster1/ontology/service/'
        || {{ numbered_segment('service', 'service_occurrence') }} || '/slot/' || requirement || '/'
        || {{ numbered_segment('label', 'label_occurrence') }} as slot_definition_key,
    'taskmaster1' as corpus_id,
    cast(null as string) as split,

    service,
    label as slot,
    cast(null as string) as slot_group,
    position,
    cast(null as string) as description,
    cast(null as boolean) as is_categorical,
    null as possible_values,
    requirement
from {{ ref('stg_taskmaster1__ontology_labels') }}
