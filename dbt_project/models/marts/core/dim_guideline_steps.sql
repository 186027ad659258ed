select
    guideline_key,
    corpus_id,
    step_index,
    step_type,
    button,
    act,
    text,
    subtext
from {{ ref('int_guideline_steps_unioned') }}
