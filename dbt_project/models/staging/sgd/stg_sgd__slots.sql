with

slots as (
    select
        source_part,
        service_name,
        {{ explode_indexed('slots', 'slot', 'position') }}
    from {{ source('raw_sgd', 'sgd__services') }}
)

select
    source_part,
    service_name as service,
    position,

    slot.name as slot,
    slot.description as description,
    slot.is_categorical as is_categorical,
    slot.possible_values as possible_values
from slots
