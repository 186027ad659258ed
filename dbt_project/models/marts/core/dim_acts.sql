select
    corpus_id,
    act,
    act_group,
    action_type,
    position,
    description
from {{ ref('int_acts_unioned') }}
