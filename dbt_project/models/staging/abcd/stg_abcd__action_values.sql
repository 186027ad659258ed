select
    source_file_id,
    source_part,
    record_index,
    turn_index,

    speaker,
    {{ explode_indexed('action_values', 'value', 'value_index') }}
from {{ ref('stg_abcd__delexed_turns') }}
