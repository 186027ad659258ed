{{ config(meta={'lacks': ['flow', 'subflow']}) }}

select
    dialogues.dialogue_key as scenario_key,
    dialogues.corpus_id,
    dialogues.split,

    sources.scenario_id
from {{ ref('int_mutualfriends__dialogues') }} as dialogues
inner join {{ ref('stg_mutualfriends__dialogues') }} as sources
    on
        dialogues.source_file_id = sources.source_file_id
        and dialogues.record_index = sources.record_index
