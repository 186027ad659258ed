{{ config(materialized='table') }}

select
    source_file_id,
    record_index,
    turn_index,
    agent,
    {{ explode_map('selected_item', 'attribute', 'value', 'attribute_index') }}
from {{ ref('stg_mutualfriends__events') }}
