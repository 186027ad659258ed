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
),

slots as (
    select
        source_file_id,
        'enumerable' as slot_group,
        slot,
        position,
        possible_values
    from enumerable

    union all

    select
        source_file_id,
        slot_group,
        slot,
        position,
        null as possible_values
    from non_enumerable
)

-- A group may be called enumerable, too: only slots that have possible values are.
select
    source_file_id,
    slot_group,
    slot,
    row_number() over (
        partition by source_file_id, slot_group, slot
        order by case when possible_values is null then 1 else 0 end, position
    ) as slot_occurrence,
    position,
    possible_values
from slots
