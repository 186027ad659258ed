select
    dialogue_key,
    corpus_id,
    split,

    0 as position,
    cast(null as string) as service,
    task as domain
from {{ ref('int_bbai__dialogues') }}
