select
    source_file_id,
    record_index,
    {{ explode_map('agents', 'agent', 'participant_type', 'position') }}
from {{ source('raw_mutualfriends', 'mutualfriends__dialogues') }}
