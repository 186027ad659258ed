select
    dialogues.dialogue_key || '/' || cast(turns.turn_index as string) || '/candidates' as candidates_key,
    dialogues.dialogue_key || '/' || cast(turns.turn_index as string) as turn_key,
    dialogues.dialogue_key,
    dialogues.corpus_id,
    dialogues.split,
    turns.turn_index,

    turns.candidate_ids,
    turns.target_position
from {{ ref('stg_abcd__delexed_turns') }} as turns
inner join {{ ref('int_abcd__dialogues') }} as dialogues
    on
        turns.source_file_id = dialogues.source_file_id
        and turns.source_part = dialogues.source_part
        and turns.record_index = dialogues.record_index
where turns.next_step = 'retrieve_utterance'
