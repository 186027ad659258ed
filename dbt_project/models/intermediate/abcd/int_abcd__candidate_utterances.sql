select
    'abcd' as corpus_id,
    candidate_id,
    utterance
from {{ ref('stg_abcd__candidate_utterances') }}
