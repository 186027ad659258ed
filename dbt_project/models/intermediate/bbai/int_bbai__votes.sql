select
    dialogues.dialogue_key || '/vote/' || {{ key_segment('options.option_name') }} as vote_key,
    dialogues.dialogue_key,
    dialogues.corpus_id,
    dialogues.split,

    options.option_name as voted_for,
    nullif(options.option_name, 'none') as agent_id,
    options.votes,
    gold_labels.label is not null as is_selected,
    gold_labels.position as gold_position
from {{ ref('stg_bbai__options') }} as options
inner join {{ ref('int_bbai__dialogues') }} as dialogues
    on
        options.source_file_id = dialogues.source_file_id
        and options.record_index = dialogues.record_index
left join {{ ref('stg_bbai__gold_labels') }} as gold_labels
    on
        options.source_file_id = gold_labels.source_file_id
        and options.record_index = gold_labels.record_index
        and options.option_name = gold_labels.label
