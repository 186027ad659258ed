select
    rule_id,
    corpus_id,
    kind,
    title,
    description,
    upstream as upstream_reference,
    expected,
    files,
    why,
    cases_read,
    cases_right,
    cases_right_again,
    cases_agreed
from {{ source('raw_landing', 'rules') }}
