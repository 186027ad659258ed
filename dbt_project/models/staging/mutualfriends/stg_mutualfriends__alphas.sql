select
    source_file_id,
    record_index,
    {{ explode_indexed('scenario.alphas', 'alpha', 'position') }}
from {{ source('raw_mutualfriends', 'mutualfriends__dialogues') }}
