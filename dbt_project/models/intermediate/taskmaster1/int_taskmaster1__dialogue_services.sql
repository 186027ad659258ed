{#- A dialog does not state its domain: it is the prefix of the instruction id, which is also a key of the ontology. -#}
select
    dialogues.dialogue_key,
    dialogues.corpus_id,
    dialogues.split,

    0 as position,
    ontology.service,
    dialogues.task as domain
from {{ ref('int_taskmaster1__dialogues') }} as dialogues
left join {{ ref('stg_taskmaster1__ontology') }} as ontology
    on dialogues.task = ontology.source_name
