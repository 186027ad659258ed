{#- The values of each act. If the two lists differ in length (this has not been seen), the longer one counts. -#}
with

longest as (
    select
        source_file_id,
        record_index,
        turn_index,
        frame_index,
        action_index,
        speaker,
        service,
        slot,
        action_values,
        canonical_values,
        case
            when cardinality(canonical_values) > coalesce(cardinality(action_values), 0) then canonical_values
            else action_values
        end as longer_list
    from {{ ref('stg_sgd__actions') }}
),

positions as (
    select
        source_file_id,
        record_index,
        turn_index,
        frame_index,
        action_index,
        speaker,
        service,
        slot,
        action_values,
        canonical_values,
        {{ explode_indexed('longer_list', 'longer_value', 'value_index') }}
    from longest
)

select
    source_file_id,
    record_index,
    turn_index,
    frame_index,
    action_index,
    value_index,

    speaker,
    service,
    slot,
    {{ list_at('action_values', 'value_index') }} as value,
    {{ list_at('canonical_values', 'value_index') }} as canonical_value
from positions
