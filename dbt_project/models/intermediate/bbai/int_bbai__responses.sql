select
    dialogues.dialogue_key || '/response/' || {{ key_segment('options.option_name') }} as response_key,
    dialogues.dialogue_key,
    dialogues.corpus_id,
    dialogues.split,

    options.option_name as agent_id,
    options.response
from {{ ref('stg_bbai__options') }} as options
inner join {{ ref('int_bbai__dialogues') }} as dialogues
    on
        options.source_file_id = dialogues.source_file_id
        and options.record_index = dialogues.record_index
where options.option_name <> 'none'
