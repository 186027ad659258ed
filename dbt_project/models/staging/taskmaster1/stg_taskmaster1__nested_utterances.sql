select
    source_file_id,
    record_index,
    {{ explode_indexed('utterances', 'utterance', 'turn_index') }}
from {{ source('raw_taskmaster1', 'taskmaster1__dialogs') }}
