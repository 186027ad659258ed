select
    corpus_id,
    flow,
    position
from {{ ref('int_flows_unioned') }}
