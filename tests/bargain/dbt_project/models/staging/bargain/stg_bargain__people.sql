with

people as (
    select
        source_file_id,
        record_index,
        {{ explode_indexed('people', 'person', 'agent') }}
    from {{ source('raw_bargain', 'bargain__deals') }}
)

select
    source_file_id,
    record_index,
    cast(agent as string) as agent,

    person.kind as participant_type,
    person.reward as reward,
    person.items as items
from people
