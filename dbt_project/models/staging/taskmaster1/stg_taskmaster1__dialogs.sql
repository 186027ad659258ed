select
    source_file_id,
    record_index,
    record_pointer,
    source_part,

    conversation_id as dialogue_id,
    instruction_id
from {{ source('raw_taskmaster1', 'taskmaster1__dialogs') }}
