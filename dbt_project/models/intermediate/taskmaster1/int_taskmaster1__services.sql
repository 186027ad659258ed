select
    'taskmaster1/ontology/service/'
        || {{ numbered_segment('service', 'service_occurrence') }} as service_definition_key,
    'taskmaster1' as corpus_id,
    cast(null as string) as split,

    service,
    source_name as domain,
    source_name,
    vertical,
    cast(null as string) as description,
    record_index as position
from {{ ref('stg_taskmaster1__ontology') }}
