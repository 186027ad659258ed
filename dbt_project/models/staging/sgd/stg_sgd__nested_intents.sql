with

intents as (
    select
        source_file_id,
        record_index,
        source_part,
        service,
        service_occurrence,
        {{ explode_indexed('intents', 'intent', 'position') }}
    from {{ ref('stg_sgd__services') }}
)

select
    *,
    row_number() over (partition by source_file_id, record_index, intent.name order by position) as intent_occurrence
from intents
