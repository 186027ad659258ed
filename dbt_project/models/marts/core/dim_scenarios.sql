select
    scenario_key,
    corpus_id,
    split,
    scenario_id,
    flow,
    subflow
from {{ ref('int_scenarios_unioned') }}
