{{ config(materialized='table') }}

select
    source_file_id,
    record_index,
    agent,
    item_index,
    {{ explode_map('item', 'attribute', 'value', 'attribute_index') }}
from {{ ref('stg_mutualfriends__items') }}
