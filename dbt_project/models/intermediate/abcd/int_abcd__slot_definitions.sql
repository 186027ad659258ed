{{ config(meta={'lacks': ['split', 'service', 'description', 'requirement']}) }}

select
    'abcd/ontology/slot/' || {{ key_segment('slot_group') }} || '/' || {{ numbered_segment('slot', 'slot_occurrence') }}
        as slot_definition_key,
    'abcd' as corpus_id,

    slot,
    slot_group,
    position,
    possible_values is not null as is_categorical,
    possible_values
from {{ ref('stg_abcd__slots') }}
where slot is not null
