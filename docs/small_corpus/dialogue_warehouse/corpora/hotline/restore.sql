-- Rebuilds the Hotline release from core. `batch` holds the source_file_id of the requested files.

-- entity: calls
with

calls as (
    select
        dialogues.dialogue_key,
        dialogues.source_file_id,
        dialogues.record_index,
        dialogues.dialogue_id,
        dialogues.task
    from dim_dialogues as dialogues
    semi join batch on dialogues.source_file_id = batch.source_file_id
),

turns as (
    select
        turns.dialogue_key,
        list({'speaker': turns.source_speaker, 'text': turns.utterance} order by turns.turn_index) as turns
    from fct_turns as turns
    semi join calls on turns.dialogue_key = calls.dialogue_key
    group by turns.dialogue_key
)

select
    calls.source_file_id,
    calls.record_index,
    null as record_key,
    to_json({'id': calls.dialogue_id, 'topic': calls.task, 'turns': coalesce(turns.turns, [])}) as record
from calls
left join turns on calls.dialogue_key = turns.dialogue_key
