with

items as (
    select
        source_file_id,
        record_index,
        record_pointer,
        agent,
        {{ explode_indexed('items', 'item', 'item_index') }}
    from {{ ref('stg_mutualfriends__knowledge_bases') }}
)

select
    source_file_id,
    record_index,
    record_pointer,
    cast(agent as string) as agent,
    item_index,
    cast(cardinality(map_keys(item)) as integer) as attribute_count,
    item
from items
