select
    dialogues.dialogue_key || '/' || cast(results.turn_index as string) || '/frame/'
        || cast(results.frame_index as string) || '/result/' || cast(results.result_index as string) as result_key,
    dialogues.dialogue_key || '/' || cast(results.turn_index as string) || '/frame/'
        || cast(results.frame_index as string) || '/call' as call_key,
    dialogues.dialogue_key || '/' || cast(results.turn_index as string) as turn_key,
    dialogues.dialogue_key,
    dialogues.corpus_id,
    dialogues.split,
    results.turn_index,
    results.frame_index,

    results.service,
    results.result_index,
    results.entity
from {{ ref('stg_sgd__service_results') }} as results
inner join {{ ref('int_sgd__dialogues') }} as dialogues
    on
        results.source_file_id = dialogues.source_file_id
        and results.record_index = dialogues.record_index
