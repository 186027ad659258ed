{{ config(materialized='table') }}

with

turns as (
    select
        source_file_id,
        record_index,
        {{ explode_indexed('turns', 'turn', 'turn_index') }}
    from {{ source('raw_sgd', 'sgd__dialogues') }}
)

select
    source_file_id,
    record_index,
    turn_index,

    turn.speaker as speaker,
    turn.utterance as utterance,
    turn.frames as frames
from turns
