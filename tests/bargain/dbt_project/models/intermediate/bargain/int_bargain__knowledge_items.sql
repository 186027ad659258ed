{#- Both people have the same items, with other points: nothing is a shared item that they could find. -#}
{{ config(meta={'lacks': ['is_shared']}) }}

select
    dialogues.dialogue_key || '/item/' || item_values.agent || '/' || cast(item_values.item_index as string) || '/'
        || item_values.attribute as knowledge_key,
    dialogues.dialogue_key,
    dialogues.corpus_id,
    dialogues.split,

    item_values.agent,
    item_values.item_index,
    item_values.attribute_index,
    item_values.attribute,
    item_values.value,
    item_values.integer_value
from {{ ref('stg_bargain__item_values') }} as item_values
inner join {{ ref('int_bargain__dialogues') }} as dialogues
    on
        item_values.source_file_id = dialogues.source_file_id
        and item_values.record_index = dialogues.record_index
