{{ config(meta={'lacks': ['service']}) }}

select
    dialogues.dialogue_key,
    dialogues.corpus_id,
    dialogues.split,

    0 as position,
    conversations.flow as domain
from {{ ref('int_abcd__dialogues') }} as dialogues
inner join {{ ref('stg_abcd__conversations') }} as conversations
    on
        dialogues.source_file_id = conversations.source_file_id
        and dialogues.record_pointer = conversations.record_pointer
