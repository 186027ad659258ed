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
        -- Of all pairs of workers, those that decide alike: both for the answer or neither.
        case
            when votes.votes between 0 and corpora.voter_count
                then
                    (
                        votes.votes * (votes.votes - 1)
                        + (corpora.voter_count - votes.votes) * (corpora.voter_count - votes.votes - 1)
                    )
                    / cast(corpora.voter_count * (corpora.voter_count - 1) as double)
        end as agreement
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
        avg(agreement) as agreement,
        avg(case when agreement is not null then votes end) / cast(voter_count as double) as vote_share
    from judged
    group by corpus_id, split, voted_for, agent_id, voter_count
)

select
    corpus_id,
    split,
    voted_for,
    agent_id,

    cast(question_count as integer) as question_count,
    cast(answerable_count as integer) as answerable_count,
    cast(vote_count as bigint) as vote_count,
    cast(gold_count as integer) as gold_count,
    cast(right_count as integer) as right_count,
    cast(right_alone_count as integer) as right_alone_count,
    cast(top_count as integer) as top_count,
    cast(tied_count as integer) as tied_count,

    cast(majority_count as integer) as majority_count,
    cast(majority_count as double) / question_count as majority_share,
    agreement,
    -- Chance: both of a pair for the answer, or neither, at the rate at which workers choose it.
    (agreement - 1 + 2 * vote_share * (1 - vote_share)) / nullif(2 * vote_share * (1 - vote_share), 0) as kappa
from options
