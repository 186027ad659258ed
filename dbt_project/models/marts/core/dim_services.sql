select
    service_definition_key,
    corpus_id,
    split,
    service,
    domain,
    source_name,
    vertical,
    description,
    position
from {{ ref('int_services_unioned') }}
