{{ config(materialized='table') }}

{#- Each item that has attributes as one comparable text: its attributes in order of their names. -#}
select
    source_file_id,
    record_index,
    agent,
    item_index,
    {{ item_text() }} as item_text
from {{ ref('stg_mutualfriends__item_values') }}
group by source_file_id, record_index, agent, item_index
