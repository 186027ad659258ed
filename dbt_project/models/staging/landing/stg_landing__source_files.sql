select
    source_file_id,
    corpus_id,
    path,
    entity,
    source_part,
    parts,
    bytes,
    sha256,
    verification,
    record_count,
    form as release_form,
    losses
from {{ source('raw_landing', 'source_files') }}
