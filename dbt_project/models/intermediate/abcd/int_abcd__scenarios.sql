{#- The release names no scenario: scenario_id is NULL. -#}
select
    dialogue_key as scenario_key,
    corpus_id,
    split,

    cast(null as string) as scenario_id,
    flow,
    source_task as subflow
from {{ ref('int_abcd__dialogues') }}
