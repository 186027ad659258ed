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
    verification = 'simulated' as is_generated,
    record_count,
    release_form,
    losses
from {{ ref('stg_landing__source_files') }}
