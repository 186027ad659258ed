select
    guideline_key,
    corpus_id,
    position,
    flow_title,
    flow_position,
    flow_description,
    subflow_title,
    intent,
    instructions
from {{ ref('int_guidelines_unioned') }}
