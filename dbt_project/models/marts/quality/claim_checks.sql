{{ config(tags=['audit']) }}

select
    claim_id,
    corpus_id,
    observed,
    verdict,
    rows_tested,
    judged_on,
    is_as_recorded,
    explanation
from {{ source('audit', 'claim_checks') }}
