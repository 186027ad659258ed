select
    dialogue_key,
    corpus_id,
    split,

    0 as position,
    cast(null as string) as service,
    flow as domain
from {{ ref('int_abcd__dialogues') }}
