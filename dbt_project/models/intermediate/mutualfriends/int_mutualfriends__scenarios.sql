select
    dialogue_key as scenario_key,
    corpus_id,
    split,

    scenario_id,
    cast(null as string) as flow,
    cast(null as string) as subflow
from {{ ref('int_mutualfriends__dialogues') }}
