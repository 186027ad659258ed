{#- A line names a dialog by its id alone. If the id occurs twice, the line means the self-dialog, which comes
    first. -#}
with

present as (
    select
        dialogue_id,
        min(dialogue_key) as dialogue_key
    from {{ ref('int_taskmaster1__dialogues') }}
    group by dialogue_id
)

select
    members.source_file_id,
    members.record_index,
    'taskmaster1' as corpus_id,
    {{ shared_split('members.source_part', {'train': 'train', 'dev': 'validation', 'test': 'test'}) }} as split,

    members.dialogue_id,
    present.dialogue_key
from {{ ref('stg_taskmaster1__split_members') }} as members
left join present
    on members.dialogue_id = present.dialogue_id
