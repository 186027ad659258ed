-- What user and system say, for a corpus that has no messages.sql. `batch` holds the dialogue_key of the
-- requested dialogues. Turns of other people are left out.

-- part: messages
select
    turns.dialogue_key,
    cast(null as varchar) as variant,
    turns.turn_index,
    cast(null as integer) as place,
    turns.turn_key,
    if(turns.role = 'user', 'user', 'assistant') as role,
    turns.utterance as content,
    cast(null as varchar) as call_name,
    cast(null as json) as arguments
from fct_turns as turns
semi join batch on turns.dialogue_key = batch.dialogue_key
where turns.role in ('user', 'system')
