select
    rule_id,
    corpus_id,
    title,
    description,
    upstream as upstream_reference,
    expected,
    files,
    why
from {{ source('raw_landing', 'rules') }}
