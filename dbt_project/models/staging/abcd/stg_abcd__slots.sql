with

enumerable as (
    select
        source_file_id,
        {{ explode_map('values.enumerable', 'slot', 'possible_values', 'position') }}
    from {{ source('raw_abcd', 'abcd__ontology') }}
),

groups as (
    select
        source_file_id,
        {{ explode_map('values.non_enumerable', 'slot_group', 'slots', 'group_position') }}
    from {{ source('raw_abcd', 'abcd__ontology') }}
),

non_enumerable as (
    select
        source_file_id,
        slot_group,
        {{ explode_indexed('slots', 'slot', 'position', keep_empty=true) }}
    from groups
)

select
    source_file_id,
    'enumerable' as slot_group,
    slot,
    1 as slot_occurrence,
    position,
    possible_values
from enumerable

union all

select
    source_file_id,
    slot_group,
    slot,
    row_number() over (partition by source_file_id, slot_group, slot order by position) as slot_occurrence,
    position,
    null as possible_values
from non_enumerable
