select
    rule_id,
    corpus_id,
    kind,
    title,
    description,
    upstream as upstream_reference,
    expected,
    files,
    why
from {{ source('raw_landing', 'rules') }}
