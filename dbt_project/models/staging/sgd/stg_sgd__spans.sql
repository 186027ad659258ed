{{ config(materialized='table') }}

with

spans as (
    select
        source_file_id,
        record_index,
        turn_index,
        frame_index,
        speaker,
        utterance,
        frame.service as service,
        {{ explode_indexed('frame.slots', 'span', 'span_index') }}
    from {{ ref('stg_sgd__nested_frames') }}
)

select
    source_file_id,
    record_index,
    turn_index,
    frame_index,
    span_index,

    speaker,
    service,
    span.slot as slot,
    span.start as start_char,
    span.exclusive_end as end_char,
    substring(utterance, span.start + 1, span.exclusive_end - span.start) as span_text
from spans
