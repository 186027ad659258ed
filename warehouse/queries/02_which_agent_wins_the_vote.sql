-- Which agent's answers do the crowd workers accept, how often is it alone with that, and what does it mostly say?
-- One row per split and agent_id.
--
-- Columns
--   split, agent_id: split and BBAI agent
--   questions: questions of the split
--   answerable_questions: those whose `human` list does not name `none`
--   right_questions: answerable questions whose `human` list names the agent: more than two workers chose its answer
--   always_right_percent: their share of answerable_questions, truncated to two decimals: the result if only
--     this agent is asked
--   right_alone: of right_questions, the questions whose list names no other agent
--   most_votes: questions where the agent got at least one vote, and no other option (including `none`) got more
--   most_votes_tied: of most_votes, the questions where another option got the same number of votes
--   votes: number of votes; a worker can choose several answers
--   commonest_answer: the answer that the agent gives most often; of several, the alphabetically first
--   commonest_answer_percent: its share of the agent's answers, one decimal: mostly a refusal
--
-- Reads: core.fct_responses, analytics.vote_agreement
-- Expect: the best agent first. A question can be right for several agents, so the shares add up to more than
--   100. The published precision of a model is measured on the same answerable questions.
-- Source: One Agent To Rule Them All (2022), table 3: Alexa 44.09, Google 48.06, Houndify 32.04, Adasa 3.45, which are
--   523, 570, 380 and 41 of the 1,186 answerable questions of test.json. Google is named in 571 `human` lists: the
--   question "What is the lowest stock value of today?" names `none` beside it, and table 3 leaves it out.
with

answers as (
    select
        split,
        agent_id,
        response,
        count(*) as times,
        sum(count(*)) over (partition by split, agent_id) as answers
    from core.fct_responses
    group by split, agent_id, response
    qualify row_number() over (partition by split, agent_id order by times desc, response) = 1
)

select
    agents.split,
    agents.agent_id,

    agents.question_count as questions,
    agents.answerable_count as answerable_questions,
    agents.right_count as right_questions,
    case
        when agents.answerable_count > 0
            then 10000 * agents.right_count // agents.answerable_count / 100
    end as always_right_percent,
    agents.right_alone_count as right_alone,

    agents.top_count as most_votes,
    agents.tied_count as most_votes_tied,
    agents.vote_count as votes,

    answers.response as commonest_answer,
    round(100.0 * answers.times / answers.answers, 1) as commonest_answer_percent
from analytics.vote_agreement as agents
left join answers
    on
        agents.split is not distinct from answers.split
        and agents.agent_id = answers.agent_id
where agents.agent_id is not null
order by agents.split, always_right_percent desc, agents.agent_id
