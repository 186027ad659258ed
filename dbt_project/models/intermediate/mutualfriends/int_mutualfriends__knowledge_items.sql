{{ config(meta={'lacks': ['integer_value']}) }}

with

owners as (
    select
        source_file_id,
        record_index,
        item_text,
        count(distinct agent) as owner_count
    from {{ ref('int_mutualfriends__items') }}
    group by source_file_id, record_index, item_text
),

items as (
    select
        items.source_file_id,
        items.record_index,
        items.agent,
        items.item_index,
        owners.owner_count > 1 as is_shared
    from {{ ref('int_mutualfriends__items') }} as items
    inner join owners
        on
            items.source_file_id = owners.source_file_id
            and items.record_index = owners.record_index
            and items.item_text = owners.item_text
)

select
    dialogues.dialogue_key || '/item/' || item_values.agent || '/' || cast(item_values.item_index as string) || '/'
        || {{ key_segment('item_values.attribute') }} as knowledge_key,
    dialogues.dialogue_key,
    dialogues.corpus_id,
    dialogues.split,

    item_values.agent,
    item_values.item_index,
    item_values.attribute_index,
    item_values.attribute,
    item_values.value,
    items.is_shared
from {{ ref('stg_mutualfriends__item_values') }} as item_values
inner join {{ ref('int_mutualfriends__dialogues') }} as dialogues
    on
        item_values.source_file_id = dialogues.source_file_id
        and item_values.record_index = dialogues.record_index
inner join items
    on
        item_values.source_file_id = items.source_file_id
        and item_values.record_index = items.record_index
        and item_values.agent = items.agent
        and item_values.item_index = items.item_index
