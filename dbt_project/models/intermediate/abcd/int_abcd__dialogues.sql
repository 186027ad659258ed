{{ config(materialized='table', meta={'lacks': ['outcome_reward']}) }}

{#- FAQ scenarios have the number of the question after the subflow (timing_4, boots_how_1); the ontology has no
    number. -#}
with

counted as (
    select
        *,
        cast({{ id_occurrence('source_part', 'dialogue_id') }} as integer) as id_occurrence
    from {{ ref('stg_abcd__conversations') }}
)

select
    {{ dialogue_key('abcd', 'source_part', 'dialogue_id', 'id_occurrence') }} as dialogue_key,
    'abcd' as corpus_id,
    {{ shared_split('source_part', {'train': 'train', 'dev': 'validation', 'test': 'test'}) }} as split,
    source_part as source_split,
    source_part,
    dialogue_id,
    id_occurrence,

    source_file_id,
    record_index,
    record_pointer,

    case
        when flow in ('storewide_query', 'single_item_query')
            then {{ without_number('subflow', '(_how|_other)?_[0-9]+') }}
        else subflow
    end as task,
    subflow as source_task,
    'written' as channel,
    'expert_live_chat' as collection_method
from counted
