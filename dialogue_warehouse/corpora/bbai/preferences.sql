-- What the workers of BBAI preferred. `batch` holds the dialogue_key of the requested questions. The answers that they
-- selected are chosen; `none` is an option of the ballot without an answer.

-- part: prompts
select
    turns.dialogue_key,
    turns.turn_index,
    turns.turn_key,
    'user' as role,
    turns.utterance as content
from fct_turns as turns
semi join batch on turns.dialogue_key = batch.dialogue_key

-- part: answers
select
    votes.dialogue_key,
    votes.voted_for as answer,
    responses.response_key as answer_key,
    responses.response as content,
    votes.votes,
    votes.is_selected as is_chosen
from fct_votes as votes
semi join batch on votes.dialogue_key = batch.dialogue_key
left join fct_responses as responses
    on votes.dialogue_key = responses.dialogue_key and votes.agent_id = responses.agent_id
