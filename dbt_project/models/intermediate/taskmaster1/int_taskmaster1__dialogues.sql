{{ config(materialized='table', meta={'lacks': ['outcome_reward']}) }}

{#- The split comes from the CSV files. If several files list an id, this model keeps the alphabetically first file;
    dim_split_members has all lines. -#}
with

counted as (
    select
        *,
        regexp_extract(instruction_id, '^([a-z]+)', 1) as instruction_prefix,
        cast({{ id_occurrence('source_part', 'dialogue_id') }} as integer) as id_occurrence
    from {{ ref('stg_taskmaster1__dialogs') }}
),

splits as (
    select
        dialogue_id,
        min(source_part) as source_split
    from {{ ref('stg_taskmaster1__split_members') }}
    group by dialogue_id
)

select
    {{ dialogue_key('taskmaster1', 'counted.source_part', 'counted.dialogue_id', 'counted.id_occurrence') }}
        as dialogue_key,
    'taskmaster1' as corpus_id,
    {{ shared_split('splits.source_split', {'train': 'train', 'dev': 'validation', 'test': 'test'}) }} as split,
    splits.source_split,
    counted.source_part,
    counted.dialogue_id,
    counted.id_occurrence,

    counted.source_file_id,
    counted.record_index,
    counted.record_pointer,

    nullif(counted.instruction_prefix, '') as task,
    counted.instruction_id as source_task,
    case counted.source_part when 'woz' then 'spoken' else 'written' end as channel,
    case counted.source_part when 'woz' then 'wizard_of_oz' else 'self_dialogue' end as collection_method
from counted
left join splits
    on counted.dialogue_id = splits.dialogue_id
