with

questions as (
    select
        dialogue_key,
        max(case when agent_id is null and is_selected then 1 else 0 end) = 0 as is_answerable,
        count(*) filter (where is_selected) as selected_options,
        max(votes) as top_votes
    from {{ ref('fct_votes') }}
    group by dialogue_key
),

tops as (
    select
        votes.dialogue_key,
        count(*) as top_options
    from {{ ref('fct_votes') }} as votes
    inner join questions
        on
            votes.dialogue_key = questions.dialogue_key
            and votes.votes = questions.top_votes
    group by votes.dialogue_key
),

judged as (
    select
        votes.dialogue_key,
        votes.corpus_id,
        votes.split,
        votes.voted_for,
        votes.agent_id,
        votes.votes,
        votes.is_selected,
        questions.is_answerable,
        questions.selected_options,
        tops.top_options,
        corpora.voter_count,
        votes.votes > 0 and votes.votes = questions.top_votes as is_top,
        -- The ordered pairs of workers that decide alike: both for the answer, or neither.
        case
            when votes.votes between 0 and corpora.voter_count
                then
                    votes.votes * (votes.votes - 1)
                    + (corpora.voter_count - votes.votes) * (corpora.voter_count - votes.votes - 1)
        end as agreeing_pairs
    from {{ ref('fct_votes') }} as votes
    inner join questions
        on votes.dialogue_key = questions.dialogue_key
    inner join tops
        on votes.dialogue_key = tops.dialogue_key
    inner join {{ ref('dim_corpora') }} as corpora
        on votes.corpus_id = corpora.corpus_id
),

options as (
    select
        corpus_id,
        split,
        voted_for,
        agent_id,
        count(*) as question_count,
        count(*) filter (where is_answerable) as answerable_count,
        sum(votes) as vote_count,
        count(*) filter (where is_selected) as gold_count,
        count(*) filter (where is_selected and is_answerable) as right_count,
        count(*) filter (where is_selected and is_answerable and selected_options = 1) as right_alone_count,
        count(*) filter (where 2 * cast(votes as bigint) > voter_count) as majority_count,
        count(*) filter (where is_top) as top_count,
        count(*) filter (where is_top and top_options > 1) as tied_count,
        -- Sums of integers, because they do not depend on the order of the rows; means of floats do.
        sum(agreeing_pairs)
        / cast(nullif(count(agreeing_pairs) * voter_count * (voter_count - 1), 0) as double) as agreement,
        sum(case when agreeing_pairs is not null then votes end)
        / cast(nullif(count(agreeing_pairs) * voter_count, 0) as double) as vote_share
    from judged
    group by corpus_id, split, voted_for, agent_id, voter_count
),

agents as (
    select
        corpus_id,
        split,
        voted_for,
        row_number() over (partition by corpus_id, split order by right_count desc, voted_for) as agent_rank
    from options
    where agent_id is not null
),

first_right_agents as (
    select
        judged.corpus_id,
        judged.split,
        min(agents.agent_rank) as agent_rank
    from judged
    inner join agents
        on
            judged.corpus_id = agents.corpus_id
            and judged.split is not distinct from agents.split
            and judged.voted_for = agents.voted_for
    where judged.is_selected and judged.is_answerable
    group by judged.corpus_id, judged.split, judged.dialogue_key
),

-- The questions on which an agent, or an agent of a better rank, is right.
leaderboard as (
    select
        agents.corpus_id,
        agents.split,
        agents.voted_for,
        agents.agent_rank,
        sum(count(first_right_agents.agent_rank)) over (
            partition by agents.corpus_id, agents.split order by agents.agent_rank
        ) as covered
    from agents
    left join first_right_agents
        on
            agents.corpus_id = first_right_agents.corpus_id
            and agents.split is not distinct from first_right_agents.split
            and agents.agent_rank = first_right_agents.agent_rank
    group by agents.corpus_id, agents.split, agents.voted_for, agents.agent_rank
)

select
    options.corpus_id,
    options.split,
    options.voted_for,
    options.agent_id,

    cast(options.question_count as integer) as question_count,
    cast(options.answerable_count as integer) as answerable_count,
    cast(options.vote_count as bigint) as vote_count,
    cast(options.gold_count as integer) as gold_count,
    cast(options.right_count as integer) as right_count,
    cast(options.right_alone_count as integer) as right_alone_count,
    cast(options.top_count as integer) as top_count,
    cast(options.tied_count as integer) as tied_count,

    cast(options.majority_count as integer) as majority_count,
    cast(options.majority_count as double) / options.question_count as majority_share,
    options.agreement,
    -- Chance agreement: both workers of a pair, or neither, choose the answer, at the rate at which all workers choose
    -- it.
    (options.agreement - 1 + 2 * options.vote_share * (1 - options.vote_share))
    / nullif(2 * options.vote_share * (1 - options.vote_share), 0) as kappa,

    cast(leaderboard.agent_rank as integer) as agent_rank,
    case
        when leaderboard.agent_rank is not null
            then options.right_count / cast(nullif(options.answerable_count, 0) as double)
    end as precision_at_1,
    cast(leaderboard.covered as integer) as covered_count,
    leaderboard.covered / cast(nullif(options.answerable_count, 0) as double) as covered_share
from options
left join leaderboard
    on
        options.corpus_id = leaderboard.corpus_id
        and options.split is not distinct from leaderboard.split
        and options.voted_for = leaderboard.voted_for
