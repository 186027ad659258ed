{{ config(materialized='table') }}

select
    source_file_id,
    record_index,
    turn_index,
    turn.speaker as speaker,
    turn.utterance as utterance
from {{ ref('stg_sgd__nested_turns') }}
