select
    dialogues.dialogue_key || '/' || cast(calls.turn_index as string) || '/frame/'
        || cast(calls.frame_index as string) || '/call' as call_key,
    dialogues.dialogue_key || '/' || cast(calls.turn_index as string) as turn_key,
    dialogues.dialogue_key,
    dialogues.corpus_id,
    dialogues.split,
    calls.turn_index,
    calls.frame_index,

    calls.service,
    calls.method,
    calls.result_count
from {{ ref('stg_sgd__service_calls') }} as calls
inner join {{ ref('int_sgd__dialogues') }} as dialogues
    on
        calls.source_file_id = dialogues.source_file_id
        and calls.record_index = dialogues.record_index
