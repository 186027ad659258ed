{{ config(materialized='table') }}

with

turns as (
    select
        source_file_id,
        source_part,
        record_index,
        {{ explode_indexed('delexed', 'turn', 'turn_index') }}
    from {{ source('raw_abcd', 'abcd__conversations') }}
)

select
    source_file_id,
    source_part,
    record_index,
    turn_index,

    turn.turn_count as source_turn_number,
    turn.speaker as speaker,
    turn.text as delexicalized_utterance,
    turn.targets.intent as intent,
    turn.targets.nextstep as next_step,
    turn.targets.action as act,
    turn.targets.values as action_values,
    turn.targets.utt_rank as target_position,
    turn.candidates as candidate_ids
from turns
