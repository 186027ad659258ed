{{ config(tags=['audit']) }}

select
    build_id,
    suite,
    expectation,
    claim_id,
    table_name,
    success,
    observed,
    severity,
    description,
    run_at
from {{ source('audit', 'expectation_results') }}
