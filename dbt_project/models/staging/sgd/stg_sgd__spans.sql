with

spans as (
    select
        source_file_id,
        record_index,
        turn_index,
        frame_index,
        speaker,
        utterance,
        service,
        {{ explode_indexed('slots', 'span', 'span_index') }}
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
    {{ text_between('utterance', 'span.start', 'span.exclusive_end') }} as span_text
from spans
