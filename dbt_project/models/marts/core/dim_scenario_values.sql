select
    scenario_key,
    corpus_id,
    split,
    section,
    field,
    value_index,
    value
from {{ ref('int_scenario_values_unioned') }}
