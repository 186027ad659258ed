{{ config(materialized='table') }}

with

segments as (
    select
        source_file_id,
        record_index,
        turn_index,
        utterance.speaker as speaker,
        {{ explode_indexed('utterance.segments', 'segment', 'segment_index') }}
    from {{ ref('stg_taskmaster1__nested_utterances') }}
),

annotations as (
    select
        source_file_id,
        record_index,
        turn_index,
        speaker,
        segment_index,
        segment.start_index as start_char,
        segment.end_index as end_char,
        segment.text as segment_text,
        cardinality(segment.annotations) as annotation_count,
        {{ explode_indexed('segment.annotations', 'annotation', 'annotation_index', keep_empty=true) }}
    from segments
)

select
    source_file_id,
    record_index,
    turn_index,
    segment_index,
    case when annotation_count > 0 then annotation_index end as annotation_index,

    speaker,
    start_char,
    end_char,
    segment_text,
    annotation.name as annotation_name
from annotations
