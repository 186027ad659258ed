with

answerable as (
    select dialogue_key
    from {{ ref('fct_votes') }}
    group by dialogue_key
    having max(case when agent_id is null and is_selected then 1 else 0 end) = 0
),

agents as (
    select distinct
        corpus_id,
        split,
        agent_id
    from {{ ref('fct_votes') }}
    where agent_id is not null
),

questions as (
    select
        votes.corpus_id,
        votes.split,
        count(distinct votes.dialogue_key) as questions
    from {{ ref('fct_votes') }} as votes
    inner join answerable
        on votes.dialogue_key = answerable.dialogue_key
    group by votes.corpus_id, votes.split
),

right_answers as (
    select
        votes.corpus_id,
        votes.split,
        votes.dialogue_key,
        votes.agent_id
    from {{ ref('fct_votes') }} as votes
    inner join answerable
        on votes.dialogue_key = answerable.dialogue_key
    where votes.is_selected and votes.agent_id is not null
),

right_counts as (
    select
        corpus_id,
        split,
        agent_id,
        count(*) as questions
    from right_answers
    group by corpus_id, split, agent_id
),

both_right as (
    select
        first_agent.corpus_id,
        first_agent.split,
        first_agent.agent_id,
        second_agent.agent_id as other_agent_id,
        count(*) as questions
    from right_answers as first_agent
    inner join right_answers as second_agent
        on
            first_agent.dialogue_key = second_agent.dialogue_key
            and first_agent.agent_id < second_agent.agent_id
    group by first_agent.corpus_id, first_agent.split, first_agent.agent_id, second_agent.agent_id
),

pairs as (
    select
        agents.corpus_id,
        agents.split,
        agents.agent_id,
        other_agents.agent_id as other_agent_id,
        coalesce(questions.questions, 0) as answerable_count,
        coalesce(right_counts.questions, 0) as right_count,
        coalesce(other_right_counts.questions, 0) as other_right_count,
        coalesce(both_right.questions, 0) as both_right_count
    from agents
    inner join agents as other_agents
        on
            agents.corpus_id = other_agents.corpus_id
            and agents.split is not distinct from other_agents.split
            and agents.agent_id < other_agents.agent_id
    left join questions
        on
            agents.corpus_id = questions.corpus_id
            and agents.split is not distinct from questions.split
    left join right_counts
        on
            agents.corpus_id = right_counts.corpus_id
            and agents.split is not distinct from right_counts.split
            and agents.agent_id = right_counts.agent_id
    left join right_counts as other_right_counts
        on
            agents.corpus_id = other_right_counts.corpus_id
            and agents.split is not distinct from other_right_counts.split
            and other_agents.agent_id = other_right_counts.agent_id
    left join both_right
        on
            agents.corpus_id = both_right.corpus_id
            and agents.split is not distinct from both_right.split
            and agents.agent_id = both_right.agent_id
            and other_agents.agent_id = both_right.other_agent_id
)

select
    corpus_id,
    split,
    agent_id,
    other_agent_id,

    cast(answerable_count as integer) as answerable_count,
    cast(right_count as integer) as right_count,
    cast(other_right_count as integer) as other_right_count,
    cast(both_right_count as integer) as both_right_count,
    (right_count + other_right_count - both_right_count) / cast(nullif(answerable_count, 0) as double) as covered_share
from pairs
