{{ config(tags=['audit']) }}

select
    claim_id,
    corpus_id,
    document,
    document_title,
    document_url,
    locator,
    quote,
    is_recalled,
    kind,
    description,
    expected,
    recorded,
    recorded_reason,
    severity,
    query,
    files,
    why
from {{ source('audit', 'claims') }}
