select
    source_file_id,
    record_index,
    corpus_id,
    split,
    dialogue_id,
    dialogue_key
from {{ ref('int_split_members_unioned') }}
