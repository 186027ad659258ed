with

attributes as (
    select
        source_file_id,
        record_index,
        {{ explode_indexed('scenario.attributes', 'attribute', 'position') }}
    from {{ source('raw_mutualfriends', 'mutualfriends__dialogues') }}
)

select
    source_file_id,
    record_index,
    position,

    attribute.name as attribute,
    attribute.value_type as value_type,
    attribute.unique as is_unique
from attributes
