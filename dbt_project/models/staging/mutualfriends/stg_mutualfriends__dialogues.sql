select
    source_file_id,
    record_index,
    record_pointer,
    source_part,

    uuid as dialogue_id,
    scenario_uuid as scenario_id,
    outcome.reward as outcome_reward
from {{ source('raw_mutualfriends', 'mutualfriends__dialogues') }}
