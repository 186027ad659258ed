{{ config(tags=['audit']) }}

select
    build_id,
    started_at,
    finished_at,
    source,
    fingerprint,
    code_version,
    corpora,
    dialogue_count,
    turn_count,
    action_count,
    slot_count,
    violation_count
from {{ source('audit', 'builds') }}
