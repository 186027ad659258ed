select
    scenario_key,
    corpus_id,
    split,
    position,
    attribute,
    value_type,
    is_unique,
    alpha
from {{ ref('int_scenario_attributes_unioned') }}
