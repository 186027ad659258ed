select
    'sgd/' || {{ key_segment('source_part') }} || '/service/'
        || {{ numbered_segment('service', 'service_occurrence') }} as service_definition_key,
    'sgd' as corpus_id,
    {{ shared_split('source_part', {'train': 'train', 'dev': 'validation', 'test': 'test'}) }} as split,

    service,
    regexp_extract(service, '^(.*?)(_[0-9]+)?$', 1) as domain,
    cast(null as string) as source_name,
    cast(null as string) as vertical,
    description,
    record_index as position
from {{ ref('stg_sgd__services') }}
