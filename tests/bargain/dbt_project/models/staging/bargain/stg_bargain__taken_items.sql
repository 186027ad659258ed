select
    source_file_id,
    record_index,
    turn_index,
    agent,
    {{ explode_map('takes', 'item_name', 'item_count', 'item_index') }}
from {{ ref('stg_bargain__events') }}
