{{ config(materialized='table') }}

with

events as (
    select
        source_file_id,
        record_index,
        {{ explode_indexed('events', 'event', 'turn_index') }}
    from {{ source('raw_bargain', 'bargain__deals') }}
)

select
    source_file_id,
    record_index,
    turn_index,

    cast(event.person as string) as agent,
    event.kind as event_kind,
    event.text as message,
    event.takes as takes
from events
