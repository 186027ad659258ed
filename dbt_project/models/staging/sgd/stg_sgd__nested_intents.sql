select
    source_part,
    service_name as service,
    {{ explode_indexed('intents', 'intent', 'position') }}
from {{ source('raw_sgd', 'sgd__services') }}
