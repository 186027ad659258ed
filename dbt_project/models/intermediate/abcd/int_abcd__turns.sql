{{ config(meta={'lacks': ['source_event_type', 'occurred_at', 'source_time', 'segment_count']}) }}

select
    dialogues.dialogue_key || '/' || cast(delexed.turn_index as string) as turn_key,
    dialogues.dialogue_key,
    dialogues.corpus_id,
    dialogues.split,
    delexed.turn_index,

    delexed.source_turn_number,
    {{ role_of('delexed.speaker', {'customer': 'user', 'agent': 'system', 'action': 'system'}) }} as role,
    delexed.speaker as source_speaker,
    case when delexed.speaker = 'action' then 'action' else 'utterance' end as event_type,
    original.utterance,
    delexed.delexicalized_utterance,
    delexed.intent,
    delexed.next_step
from {{ ref('stg_abcd__delexed_turns') }} as delexed
inner join {{ ref('stg_abcd__original_turns') }} as original
    on
        delexed.source_file_id = original.source_file_id
        and delexed.source_part = original.source_part
        and delexed.record_index = original.record_index
        and delexed.turn_index = original.turn_index
inner join {{ ref('int_abcd__dialogues') }} as dialogues
    on
        delexed.source_file_id = dialogues.source_file_id
        and delexed.source_part = dialogues.source_part
        and delexed.record_index = dialogues.record_index
