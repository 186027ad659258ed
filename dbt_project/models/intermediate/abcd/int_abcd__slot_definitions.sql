select
    'abcd/ontology/slot/' || {{ key_segment('slot_group') }} || '/' || {{ numbered_segment('slot', 'slot_occurrence') }}
        as slot_definition_key,
    'abcd' as corpus_id,
    cast(null as string) as split,

    cast(null as string) as service,
    slot,
    slot_group,
    position,
    cast(null as string) as description,
    slot_group = 'enumerable' as is_categorical,
    possible_values,
    cast(null as string) as requirement
from {{ ref('stg_abcd__slots') }}
where slot is not null
