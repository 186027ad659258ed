select
    corpus_id,
    candidate_id,
    utterance
from {{ ref('int_candidate_utterances_unioned') }}
