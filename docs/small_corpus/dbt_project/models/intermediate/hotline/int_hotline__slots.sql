{{ config(meta={'lacks': [
    'frame_index', 'service', 'source_label', 'action_index', 'value_index', 'integer_value', 'canonical_value', 'status',
]}) }}

select
    dialogues.dialogue_key || '/' || cast(spans.turn_index as string) || '/span/' || cast(spans.span_index as string)
        || '/0' as slot_key,
    dialogues.dialogue_key || '/' || cast(spans.turn_index as string) as turn_key,
    dialogues.dialogue_key,
    dialogues.corpus_id,
    dialogues.split,
    spans.turn_index,

    {{ role_of('spans.speaker', {'caller': 'user', 'agent': 'system'}) }} as role,
    'span' as annotation_type,
    spans.slot as slot_name,
    spans.span_index,
    0 as annotation_index,
    spans.span_text as value,
    spans.start_char,
    spans.end_char
from {{ ref('stg_hotline__spans') }} as spans
inner join {{ ref('int_hotline__dialogues') }} as dialogues
    on
        spans.source_file_id = dialogues.source_file_id
        and spans.record_index = dialogues.record_index
