with

slots as (
    select
        source_file_id,
        record_index,
        source_part,
        service,
        service_occurrence,
        {{ explode_indexed('slots', 'slot', 'position') }}
    from {{ ref('stg_sgd__services') }}
)

select
    source_file_id,
    record_index,
    source_part,
    service,
    service_occurrence,
    position,

    slot.name as slot,
    row_number() over (partition by source_file_id, record_index, slot.name order by position) as slot_occurrence,
    slot.description as description,
    slot.is_categorical as is_categorical,
    slot.possible_values as possible_values
from slots
