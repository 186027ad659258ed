select
    corpus_id,
    kind,
    position,
    term
from {{ ref('int_vocabulary_unioned') }}
