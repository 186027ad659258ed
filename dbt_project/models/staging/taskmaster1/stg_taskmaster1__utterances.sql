{{ config(materialized='table') }}

select
    source_file_id,
    record_index,
    turn_index,

    utterance.index as source_turn_number,
    utterance.speaker as speaker,
    utterance.text as utterance,
    cast(cardinality(utterance.segments) as integer) as segment_count
from {{ ref('stg_taskmaster1__nested_utterances') }}
