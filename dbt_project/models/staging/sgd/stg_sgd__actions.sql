with

actions as (
    select
        source_file_id,
        record_index,
        turn_index,
        frame_index,
        speaker,
        service,
        {{ explode_indexed('actions', 'action', 'action_index') }}
    from {{ ref('stg_sgd__nested_frames') }}
)

select
    source_file_id,
    record_index,
    turn_index,
    frame_index,
    action_index,

    speaker,
    service,
    action.act as act,
    action.slot as slot,
    action.values as action_values,
    action.canonical_values as canonical_values
from actions
