with

slots as (
    select
        source_file_id,
        record_index,
        turn_index,
        frame_index,
        speaker,
        service,
        {{ explode_map('state.slot_values', 'slot', 'variants', 'slot_index') }}
    from {{ ref('stg_sgd__nested_frames') }}
),

variants as (
    select
        source_file_id,
        record_index,
        turn_index,
        frame_index,
        speaker,
        service,
        slot,
        cardinality(variants) as variant_count,
        {{ explode_indexed('variants', 'value', 'variant_index', keep_empty=true) }}
    from slots
)

select
    source_file_id,
    record_index,
    turn_index,
    frame_index,

    speaker,
    service,
    slot,
    case when variant_count > 0 then variant_index end as variant_index,
    value
from variants
