{{ config(materialized='table') }}

with

turns as (
    select
        source_file_id,
        source_part,
        record_index,
        {{ explode_indexed('original', 'turn', 'turn_index') }}
    from {{ source('raw_abcd', 'abcd__conversations') }}
)

select
    source_file_id,
    source_part,
    record_index,
    turn_index,

    turn.speaker as speaker,
    turn.text as utterance
from turns
