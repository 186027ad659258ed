{{ config(materialized='table', meta={'lacks': ['task', 'source_task', 'outcome_reward']}) }}

with

counted as (
    select
        *,
        cast({{ id_occurrence('source_part', 'dialogue_id') }} as integer) as id_occurrence
    from {{ ref('stg_sgd__dialogues') }}
)

select
    {{ dialogue_key('sgd', 'source_part', 'dialogue_id', 'id_occurrence') }} as dialogue_key,
    'sgd' as corpus_id,
    {{ shared_split('source_part', {'train': 'train', 'dev': 'validation', 'test': 'test'}) }} as split,
    source_part as source_split,
    source_part,
    dialogue_id,
    id_occurrence,

    source_file_id,
    record_index,
    record_pointer,

    'written' as channel,
    'simulated_outline_paraphrased' as collection_method
from counted
