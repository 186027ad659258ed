{{ config(materialized='table') }}

with

events as (
    select
        source_file_id,
        record_index,
        {{ explode_indexed('events', 'event', 'turn_index') }}
    from {{ source('raw_mutualfriends', 'mutualfriends__dialogues') }}
)

select
    source_file_id,
    record_index,
    turn_index,

    event.action as event_action,
    cast(event.agent as string) as agent,
    event.time as source_time,
    event.data.text as message,
    event.data.entries as selected_item
from events
