{{ config(materialized='table', meta={'lacks': ['task', 'source_task']}) }}

with

counted as (
    select
        *,
        cast({{ id_occurrence('source_part', 'dialogue_id') }} as integer) as id_occurrence
    from {{ ref('stg_bargain__deals') }}
)

select
    {{ dialogue_key('bargain', 'source_part', 'dialogue_id', 'id_occurrence') }} as dialogue_key,
    'bargain' as corpus_id,
    {{ shared_split('source_part', {'train': 'train', 'dev': 'validation', 'test': 'test'}) }} as split,
    source_part as source_split,
    source_part,
    dialogue_id,
    id_occurrence,

    source_file_id,
    record_index,
    record_pointer,

    'written' as channel,
    'human_human_chat' as collection_method,
    case when is_agreed then 1 else 0 end as outcome_reward
from counted
