{#- The release has no ids of scenarios: scenario_id is NULL. -#}
{{ config(meta={'lacks': ['scenario_id']}) }}

select
    dialogues.dialogue_key as scenario_key,
    dialogues.corpus_id,
    dialogues.split,

    conversations.flow,
    conversations.subflow
from {{ ref('int_abcd__dialogues') }} as dialogues
inner join {{ ref('stg_abcd__conversations') }} as conversations
    on
        dialogues.source_file_id = conversations.source_file_id
        and dialogues.record_pointer = conversations.record_pointer
