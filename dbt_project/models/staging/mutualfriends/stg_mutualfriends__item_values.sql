{{ config(materialized='table') }}

with

knowledge_bases as (
    select
        source_file_id,
        record_index,
        {{ explode_indexed('scenario.kbs', 'items', 'agent') }}
    from {{ source('raw_mutualfriends', 'mutualfriends__dialogues') }}
),

items as (
    select
        source_file_id,
        record_index,
        agent,
        {{ explode_indexed('items', 'item', 'item_index') }}
    from knowledge_bases
)

select
    source_file_id,
    record_index,
    cast(agent as string) as agent,
    item_index,
    {{ explode_map('item', 'attribute', 'value', 'attribute_index') }}
from items
