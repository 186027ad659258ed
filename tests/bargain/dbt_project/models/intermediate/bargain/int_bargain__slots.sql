{{ config(meta={'lacks': [
    'frame_index', 'service', 'source_label', 'span_index', 'annotation_index', 'canonical_value', 'start_char',
    'end_char', 'status',
]}) }}

select
    dialogues.dialogue_key || '/' || cast(taken.turn_index as string) || '/selection/'
        || {{ key_segment('taken.item_name') }} as slot_key,
    dialogues.dialogue_key || '/' || cast(taken.turn_index as string) as turn_key,
    dialogues.dialogue_key,
    dialogues.corpus_id,
    dialogues.split,
    taken.turn_index,

    {{ role_of('taken.agent', {'0': 'peer', '1': 'peer'}) }} as role,
    'selection' as annotation_type,
    taken.item_name as slot_name,
    0 as action_index,
    taken.item_index as value_index,
    cast(taken.item_count as string) as value,
    taken.item_count as integer_value
from {{ ref('stg_bargain__taken_items') }} as taken
inner join {{ ref('int_bargain__dialogues') }} as dialogues
    on
        taken.source_file_id = dialogues.source_file_id
        and taken.record_index = dialogues.record_index
