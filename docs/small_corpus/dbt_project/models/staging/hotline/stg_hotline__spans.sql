with

spans as (
    select
        source_file_id,
        record_index,
        turn_index,
        speaker,
        {{ explode_indexed('spans', 'span', 'span_index') }}
    from {{ ref('stg_hotline__turns') }}
)

select
    source_file_id,
    record_index,
    turn_index,
    span_index,

    speaker,
    span.slot as slot,
    span.text as span_text,
    span.start as start_char,
    span.end as end_char
from spans
