{{ config(materialized='table', meta={'lacks': ['source_task', 'outcome_reward']}) }}

with

counted as (
    select
        *,
        cast({{ id_occurrence('source_part', 'dialogue_id') }} as integer) as id_occurrence
    from {{ ref('stg_hotline__calls') }}
)

select
    {{ dialogue_key('hotline', 'source_part', 'dialogue_id', 'id_occurrence') }} as dialogue_key,
    'hotline' as corpus_id,
    {{ shared_split('source_part', {'train': 'train', 'dev': 'validation', 'test': 'test'}) }} as split,
    source_part as source_split,
    source_part,
    dialogue_id,
    id_occurrence,

    source_file_id,
    record_index,
    record_pointer,

    task,
    'spoken' as channel,
    'human_human_call' as collection_method
from counted
