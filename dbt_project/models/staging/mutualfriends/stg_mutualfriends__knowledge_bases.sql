with

knowledge_bases as (
    select
        source_file_id,
        record_index,
        record_pointer,
        {{ explode_indexed('scenario.kbs', 'items', 'agent') }}
    from {{ source('raw_mutualfriends', 'mutualfriends__dialogues') }}
)

select
    source_file_id,
    record_index,
    record_pointer,
    agent,
    items
from knowledge_bases
