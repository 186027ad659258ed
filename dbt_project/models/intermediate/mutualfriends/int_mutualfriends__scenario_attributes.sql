{#- Attributes and alphas are parallel lists; a position that only one of them has keeps its row. -#}
with

positions as (
    select
        coalesce(attributes.source_file_id, alphas.source_file_id) as source_file_id,
        coalesce(attributes.record_index, alphas.record_index) as record_index,
        coalesce(attributes.position, alphas.position) as position,
        attributes.attribute,
        attributes.value_type,
        attributes.is_unique,
        alphas.alpha
    from {{ ref('stg_mutualfriends__attributes') }} as attributes
    full outer join {{ ref('stg_mutualfriends__alphas') }} as alphas
        on
            attributes.source_file_id = alphas.source_file_id
            and attributes.record_index = alphas.record_index
            and attributes.position = alphas.position
)

select
    dialogues.dialogue_key as scenario_key,
    dialogues.corpus_id,
    dialogues.split,

    positions.position,
    positions.attribute,
    positions.value_type,
    positions.is_unique,
    positions.alpha
from positions
inner join {{ ref('int_mutualfriends__dialogues') }} as dialogues
    on
        positions.source_file_id = dialogues.source_file_id
        and positions.record_index = dialogues.record_index
