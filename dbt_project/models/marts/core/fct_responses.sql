select
    response_key,
    dialogue_key,
    corpus_id,
    split,
    agent_id,
    response
from {{ ref('int_responses_unioned') }}
