{{ config(tags=['audit']) }}

select
    claim_id,
    corpus_id,
    document,
    document_title,
    document_url,
    locator,
    quote,
    quotes_whom,
    is_recalled,
    kind,
    description,
    expected,
    recorded,
    recorded_reason,
    severity,
    query,
    tested_query,
    files,
    why
from {{ source('audit', 'claims') }}
