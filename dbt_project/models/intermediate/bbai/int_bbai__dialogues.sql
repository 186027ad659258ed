{{ config(materialized='table', meta={'lacks': ['source_task', 'outcome_reward']}) }}

{#- A question has no id: the key uses its position in the file, and dialogue_id is the question itself. -#}
select
    'bbai/' || {{ key_segment('source_part') }} || '/' || {{ position_segment('record_index') }} as dialogue_key,
    'bbai' as corpus_id,
    {{ shared_split('source_part', {'train': 'train', 'test': 'test'}) }} as split,
    source_part as source_split,
    source_part,
    utterance as dialogue_id,
    1 as id_occurrence,

    source_file_id,
    record_index,
    record_pointer,

    intent as task,
    'written' as channel,
    'agents_answer_crowd_votes' as collection_method
from {{ ref('stg_bbai__questions') }}
