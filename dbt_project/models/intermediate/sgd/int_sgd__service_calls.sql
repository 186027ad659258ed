select
    dialogues.dialogue_key || '/' || cast(frames.turn_index as string) || '/frame/'
        || cast(frames.frame_index as string) || '/call' as call_key,
    dialogues.dialogue_key || '/' || cast(frames.turn_index as string) as turn_key,
    dialogues.dialogue_key,
    dialogues.corpus_id,
    dialogues.split,
    frames.turn_index,
    frames.frame_index,

    frames.service,
    frames.method,
    frames.result_count
from {{ ref('stg_sgd__frames') }} as frames
inner join {{ ref('int_sgd__dialogues') }} as dialogues
    on
        frames.source_file_id = dialogues.source_file_id
        and frames.record_index = dialogues.record_index
where frames.method is not null
