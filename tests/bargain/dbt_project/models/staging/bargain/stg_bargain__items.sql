with

items as (
    select
        source_file_id,
        record_index,
        agent,
        {{ explode_indexed('items', 'item', 'item_index') }}
    from {{ ref('stg_bargain__people') }}
)

select
    source_file_id,
    record_index,
    agent,
    item_index,

    item.name as item_name,
    item.count as item_count,
    item.points as points
from items
