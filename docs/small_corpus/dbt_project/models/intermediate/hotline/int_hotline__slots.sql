select
    dialogues.dialogue_key || '/' || cast(spans.turn_index as string) || '/span/' || cast(spans.span_index as string)
        || '/0' as slot_key,
    dialogues.dialogue_key || '/' || cast(spans.turn_index as string) as turn_key,
    dialogues.dialogue_key,
    dialogues.corpus_id,
    dialogues.split,
    spans.turn_index,
    cast(null as integer) as frame_index,

    {{ role_of('spans.speaker', {'caller': 'user', 'agent': 'system'}) }} as role,
    'span' as annotation_type,
    cast(null as string) as service,
    spans.slot as slot_name,
    cast(null as string) as source_label,
    cast(null as integer) as action_index,
    spans.span_index,
    0 as annotation_index,
    cast(null as integer) as value_index,
    spans.span_text as value,
    cast(null as string) as canonical_value,
    spans.start_char,
    spans.end_char,
    cast(null as string) as status
from {{ ref('stg_hotline__spans') }} as spans
inner join {{ ref('int_hotline__dialogues') }} as dialogues
    on
        spans.source_file_id = dialogues.source_file_id
        and spans.record_index = dialogues.record_index
