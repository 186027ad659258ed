select
    dialogue_key || '/0' as turn_key,
    dialogue_key,
    corpus_id,
    split,
    0 as turn_index,

    cast(null as integer) as source_turn_number,
    'user' as role,
    cast(null as string) as source_speaker,
    'utterance' as event_type,
    cast(null as string) as source_event_type,
    dialogue_id as utterance,
    cast(null as string) as delexicalized_utterance,
    cast(null as timestamp) as occurred_at,
    cast(null as string) as source_time,
    task as intent,
    cast(null as string) as next_step,
    cast(null as integer) as segment_count
from {{ ref('int_bbai__dialogues') }}
