{{ config(meta={'lacks': ['reward']}) }}

select
    dialogues.dialogue_key,
    dialogues.corpus_id,
    dialogues.split,

    participants.agent as source_speaker,
    participants.participant_type
from {{ ref('stg_mutualfriends__participants') }} as participants
inner join {{ ref('int_mutualfriends__dialogues') }} as dialogues
    on
        participants.source_file_id = dialogues.source_file_id
        and participants.record_index = dialogues.record_index
