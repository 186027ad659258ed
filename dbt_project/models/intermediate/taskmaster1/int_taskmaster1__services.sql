{{ config(meta={'lacks': ['split', 'description']}) }}

select
    'taskmaster1/ontology/service/'
        || {{ numbered_segment('service', 'service_occurrence') }} as service_definition_key,
    'taskmaster1' as corpus_id,

    service,
    source_name as domain,
    source_name,
    vertical,
    record_index as position
from {{ ref('stg_taskmaster1__ontology') }}
