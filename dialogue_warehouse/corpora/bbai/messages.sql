-- How a question of BBAI becomes chat messages: the question, and the answer of an agent that the workers selected.
-- `batch` holds the dialogue_key of the requested questions. Each selected agent is a variant of the question. A blank
-- answer is none, so its variant has no answer and is left out.

-- part: messages
with

selected as (
    select
        votes.dialogue_key,
        votes.agent_id,
        responses.response
    from fct_votes as votes
    semi join batch on votes.dialogue_key = batch.dialogue_key
    inner join fct_responses as responses
        on votes.dialogue_key = responses.dialogue_key and votes.agent_id = responses.agent_id
    where votes.is_selected
)

select
    selected.dialogue_key,
    selected.agent_id as variant,
    turns.turn_index,
    0 as place,
    turns.turn_key,
    'user' as role,
    turns.utterance as content,
    cast(null as varchar) as call_name,
    cast(null as json) as arguments
from selected
inner join fct_turns as turns on selected.dialogue_key = turns.dialogue_key

union all

select
    selected.dialogue_key,
    selected.agent_id as variant,
    turns.turn_index,
    1 as place,
    turns.turn_key,
    'assistant' as role,
    selected.response as content,
    cast(null as varchar) as call_name,
    cast(null as json) as arguments
from selected
inner join fct_turns as turns on selected.dialogue_key = turns.dialogue_key
where trim(translate(selected.response, chr(9) || chr(10) || chr(13), '   ')) <> ''
