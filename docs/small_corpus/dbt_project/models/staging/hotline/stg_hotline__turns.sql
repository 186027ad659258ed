with

turns as (
    select
        source_file_id,
        record_index,
        {{ explode_indexed('turns', 'turn', 'turn_index') }}
    from {{ source('raw_hotline', 'hotline__calls') }}
)

select
    source_file_id,
    record_index,
    turn_index,

    turn.speaker as speaker,
    turn.text as utterance
from turns
