{#- A scenario field that the release leaves out has no row. -#}
select
    dialogues.dialogue_key as scenario_key,
    dialogues.corpus_id,
    dialogues.split,

    scenario_values.section,
    scenario_values.field,
    scenario_values.value_index,
    scenario_values.value
from {{ ref('stg_abcd__scenario_values') }} as scenario_values
inner join {{ ref('int_abcd__dialogues') }} as dialogues
    on
        scenario_values.source_file_id = dialogues.source_file_id
        and scenario_values.source_part = dialogues.source_part
        and scenario_values.record_index = dialogues.record_index
where scenario_values.value is not null
