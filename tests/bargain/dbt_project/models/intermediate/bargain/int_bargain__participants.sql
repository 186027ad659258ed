select
    dialogues.dialogue_key,
    dialogues.corpus_id,
    dialogues.split,

    people.agent as source_speaker,
    people.participant_type,
    people.reward
from {{ ref('stg_bargain__people') }} as people
inner join {{ ref('int_bargain__dialogues') }} as dialogues
    on
        people.source_file_id = dialogues.source_file_id
        and people.record_index = dialogues.record_index
