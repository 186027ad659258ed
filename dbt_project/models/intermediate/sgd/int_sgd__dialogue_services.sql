select
    dialogues.dialogue_key,
    dialogues.corpus_id,
    dialogues.split,

    services.position,
    services.service,
    {{ without_number('services.service', '_[0-9]+') }} as domain
from {{ ref('stg_sgd__dialogue_services') }} as services
inner join {{ ref('int_sgd__dialogues') }} as dialogues
    on
        services.source_file_id = dialogues.source_file_id
        and services.record_index = dialogues.record_index
